// Package kernels is the catalog of what gpurun can run: every collective with its algorithms. Lists of the command
// line, tests, and the build of the PTX read it. Each collective has a package below this one; package matmul holds
// products of matrices, package device the CUDA headers, and package ptx the compiled kernels.
package kernels

import (
	"slices"

	"gpurun/kernels/allgather"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/alltoall"
	"gpurun/kernels/barrier"
	"gpurun/kernels/broadcast"
	"gpurun/kernels/collective"
	"gpurun/kernels/gather"
	"gpurun/kernels/matmul"
	"gpurun/kernels/probe"
	"gpurun/kernels/reduce"
	"gpurun/kernels/reducescatter"
	"gpurun/kernels/scatter"
)

//go:generate go run ./ptx/build

// collectives returns the function of each collective, which makes it when it is called first.
func collectives() []func() *collective.Collective {
	return []func() *collective.Collective{
		allreduce.Collective, allgather.Collective, reducescatter.Collective,
		broadcast.Collective, reduce.Collective, gather.Collective, scatter.Collective,
		alltoall.Collective, barrier.Collective,
	}
}

// Collectives lists all collectives. Callers must not change them: they are shared.
func Collectives() []*collective.Collective {
	var all []*collective.Collective
	for _, c := range collectives() {
		all = append(all, c())
	}
	return all
}

// Find looks a collective up by its name or an alias. It makes only the collectives listed before this one, because
// every rank of a job looks up its own.
func Find(word string) (*collective.Collective, bool) {
	for _, of := range collectives() {
		c := of()
		if word == c.Name || slices.Contains(c.Aliases, word) {
			return c, true
		}
	}
	return nil, false
}

// Modules lists the modules of all algorithms, of products of matrices, and of the probes, each once. Algorithms by
// foreign libraries have none.
func Modules() []collective.Module {
	modules := append(matmul.Modules(), probe.Kernels()[0].Module)
	seen := map[string]bool{}
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			for _, k := range slices.Concat(a.Kernels, a.Others) {
				if k.Module.Name != "" && !seen[k.Module.Name] {
					seen[k.Module.Name] = true
					modules = append(modules, k.Module)
				}
			}
		}
	}
	return modules
}
