package plan

import (
	"fmt"
	"slices"
	"time"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/worker/workload"
)

// productJob turns the settings into what the workers do for products of matrices.
func productJob(s *settings.Sources, c settings.Config, what *matmul.Operation,
	inject []workload.Injection,
) (workload.Job, error) {
	job := workload.Job{
		Collective: what.Name, Iterations: c.Iters, Warmup: c.WarmupIters, Verify: c.Check == 1,
		Seed: c.Seed, Timeout: time.Duration(c.Timeout), Inject: inject, P2P: c.P2P, Symm: c.Symm,
		LibraryPaths: libraryPaths(c), Record: c.Trace != "",
		Products: &workload.Products{M: c.M, N: c.N, K: c.K},
	}
	for _, n := range c.SplitsPerRank {
		if n > matmul.MaxSplits {
			return job, s.Invalid("splits-per-rank", fmt.Errorf("%d is not between 1 and %d", n, matmul.MaxSplits))
		}
		job.Products.Splits = append(job.Products.Splits, int(n))
	}
	return job, setProductWords(s, &job, c, what)
}

// setProductWords sets algorithms and types.
func setProductWords(s *settings.Sources, job *workload.Job, c settings.Config, what *matmul.Operation) (err error) {
	var files []*kernelfile.File
	if files, job.KernelFiles, err = readKernelFiles(c.Algo, what.Name); err != nil {
		return err
	}
	own, names := productAlgorithms(what)
	valid := append([]string{settings.Auto, settings.All}, names...)
	job.Algorithms, err = choose("algorithm", c.Algo, own, valid, func(word string) (string, bool) {
		return word, slices.Contains(valid, word) || kernelfile.IsPath(word)
	})
	if err != nil {
		return s.Invalid("algo", err)
	}
	types, common := productTypes(files)
	if s.Source("datatype") == "" && len(common) > 0 && !slices.ContainsFunc(c.DataType, func(word string) bool {
		d, ok := collective.ParseDType(word)
		return ok && slices.Contains(common, d.Name)
	}) {
		c.DataType = common[:1]
	}
	job.DTypes, err = choose("datatype of "+what.Name, c.DataType, common, append([]string{settings.All}, types...),
		func(word string) (string, bool) {
			d, ok := collective.ParseDType(word)
			return d.Name, ok && slices.Contains(types, d.Name)
		})
	if err != nil {
		return s.Invalid("datatype", err)
	}
	return nil
}

// productTypes lists the types that products have, and those that all the kernel files have.
func productTypes(files []*kernelfile.File) (types, common []string) {
	for _, d := range matmul.DTypes() {
		types = append(types, d.Name)
		if !slices.ContainsFunc(files, func(f *kernelfile.File) bool { return !slices.Contains(f.ElementTypes(), d.Name) }) {
			common = append(common, d.Name)
		}
	}
	return types, common
}

// productAlgorithms lists gpurun's own, and all.
func productAlgorithms(what *matmul.Operation) (own, all []string) {
	for _, a := range what.Algorithms {
		all = append(all, a.Name)
		if a.Library == "" {
			own = append(own, a.Name)
		}
	}
	return own, all
}
