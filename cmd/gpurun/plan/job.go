package plan

import (
	"maps"
	"time"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/worker/workload"
)

// collectiveJob turns the settings into what the workers do for a collective, with failures made
// on purpose if any.
func collectiveJob(s *settings.Sources, c settings.Config, what *collective.Collective,
	inject []workload.Injection,
) (workload.Job, error) {
	job := workload.Job{
		Collective: what.Name, Cycles: c.RunCycles,
		Iterations: c.Iters, Warmup: c.WarmupIters, GraphReplays: c.CUDAGraph,
		Verify: c.Check == 1, Seed: c.Seed, Timeout: time.Duration(c.Timeout), Inject: inject,
		MaxBlocks: c.MaxBlocks, PDL: c.PDL, P2P: c.P2P, Multicast: c.Multicast, Symm: c.Symm,
		LibraryPaths: libraryPaths(c),
	}
	if c.Blocks > 0 {
		job.Blocks = []int{c.Blocks}
	}
	if what.Shape.Root != collective.NoRoot {
		job.Root = c.Root
	}
	if err := setEpilogue(s, &job, c, what); err != nil {
		return job, err
	}
	if err := setWords(s, &job, c, what); err != nil {
		return job, err
	}
	if err := setData(s, &job, c, what); err != nil {
		return job, err
	}
	measured, err := tuningTables(s, c)
	job.Tuning = measured.Only(what.Name)
	return job, err
}

// libraryPaths are the external libraries that a file was given for.
func libraryPaths(c settings.Config) map[string]string {
	paths := map[string]string{
		libraries.NCCLName: c.NCCLLib, libraries.NCCLSymmetricName: c.NCCLLib, libraries.NVSHMEMName: c.NVSHMEMLib,
		libraries.CUBLASName: c.CUBLASLib,
	}
	maps.DeleteFunc(paths, func(_, path string) bool { return path == "" })
	return paths
}

// setWords sets algorithms, types and operations.
func setWords(s *settings.Sources, job *workload.Job, c settings.Config, what *collective.Collective) (err error) {
	able := abilities{what: what, words: c.Algo}
	able.epilogue, _ = collective.ParseEpilogue(job.Epilogue)
	if able.files, job.KernelFiles, err = readKernelFiles(c.Algo, what.Name); err != nil {
		return err
	}
	offerTypesOf(s, &c, able)
	if job.Algorithms, err = chooseAlgorithms(c.Algo, what); err != nil {
		return s.Invalid("algo", err)
	}
	if job.DTypes, err = able.chooseDTypes(c.DataType); err != nil {
		return s.Invalid("datatype", err)
	}
	job.Ops = []string{string(collective.None)}
	if what.Shape.Reduces {
		if job.Ops, err = able.chooseOps(c.Op, job.DTypes); err != nil {
			return s.Invalid("op", err)
		}
	}
	return nil
}

// setData sets the sizes. What moves no data has one, of nothing, and any type
// will do for it.
func setData(s *settings.Sources, job *workload.Job, c settings.Config, what *collective.Collective) (err error) {
	if what.Shape.Empty {
		job.Sizes, job.DTypes = []int64{0}, []string{collective.Int8.Name}
		return nil
	}
	job.Unaligned = c.Unaligned
	job.Sizes, err = sizes(s, c)
	return err
}
