package settings

import (
	"maps"
	"time"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/worker"
)

// Job turns the settings into what the workers do.
func (s *Sources) Job(c Config, what *collective.Collective, inject []worker.Injection) (worker.Job, error) {
	job := worker.Job{
		Collective: what.Name, Cycles: c.RunCycles,
		Iterations: c.Iters, Warmup: c.WarmupIters, GraphReplays: c.CUDAGraph,
		Verify: c.Check == 1, Seed: c.Seed, Timeout: time.Duration(c.Timeout), Inject: inject,
		MaxBlocks: c.MaxBlocks, PDL: c.PDL, P2P: c.P2P, Multicast: c.Multicast, Symm: c.Symm,
		LibraryPaths: libraryPaths(c),
	}
	if c.Blocks > 0 {
		job.Blocks = []int{c.Blocks}
	}
	if what.Shape.Rooted {
		job.Root = c.Root
	}
	if err := s.setEpilogue(&job, c, what); err != nil {
		return job, err
	}
	if err := s.setWords(&job, c, what); err != nil {
		return job, err
	}
	if err := s.setData(&job, c, what); err != nil {
		return job, err
	}
	tables, err := s.tuning(c)
	job.Tuning = tables.Only(what.Name)
	return job, err
}

// libraryPaths are the libraries of others that a file was given for.
func libraryPaths(c Config) map[string]string {
	paths := map[string]string{libraries.NCCLName: c.NCCLLib, libraries.NVSHMEMName: c.NVSHMEMLib, libraries.CUBLASName: c.CUBLASLib}
	maps.DeleteFunc(paths, func(_, path string) bool { return path == "" })
	return paths
}

// setWords sets algorithms, types and operations.
func (s *Sources) setWords(job *worker.Job, c Config, what *collective.Collective) (err error) {
	able := abilities{what: what, words: c.Algo}
	able.epilogue, _ = collective.ParseEpilogue(job.Epilogue)
	if job.Algorithms, err = chooseAlgorithms(c.Algo, what); err != nil {
		return s.Blame("algo", err)
	}
	if job.DTypes, err = able.chooseDTypes(c.DataType); err != nil {
		return s.Blame("datatype", err)
	}
	job.Ops = []string{string(collective.None)}
	if what.Shape.Reduces {
		if job.Ops, err = able.chooseOps(c.Op, job.DTypes); err != nil {
			return s.Blame("op", err)
		}
	}
	return nil
}

// setData sets the sizes. What moves no data has one, of nothing, and any type
// will do for it.
func (s *Sources) setData(job *worker.Job, c Config, what *collective.Collective) (err error) {
	if what.Shape.Empty {
		job.Sizes, job.DTypes = []int64{0}, []string{collective.Int8.Name}
		return nil
	}
	job.Unaligned = c.Unaligned
	job.Sizes, err = s.sizes(c)
	return err
}
