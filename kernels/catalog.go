// Package kernels is the catalog of what gpurun can run: every collective with
// its algorithms. The command line's lists, the tests and the build of the PTX
// all read it.
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

// Collectives lists all collectives: always the same, which callers do not change.
func Collectives() []*collective.Collective {
	return []*collective.Collective{
		allreduce.Collective(), allgather.Collective(), reducescatter.Collective(),
		broadcast.Collective(), reduce.Collective(), gather.Collective(), scatter.Collective(),
		alltoall.Collective(), barrier.Collective(),
	}
}

// Find looks a collective up by its name or an alias.
func Find(word string) (*collective.Collective, bool) {
	for _, c := range Collectives() {
		if word == c.Name || slices.Contains(c.Aliases, word) {
			return c, true
		}
	}
	return nil, false
}

// Modules lists the modules of all algorithms, each once, those of products of
// matrices, and that of the probes.
// What a library of others does has none.
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
