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

// entry is a collective by its name, which is made when it is asked for: its kernels are thousands of values.
type entry struct {
	name string
	make func() *collective.Collective
}

func entries() []entry {
	return []entry{
		{"allreduce", allreduce.Collective},
		{"allgather", allgather.Collective},
		{"reducescatter", reducescatter.Collective},
		{"broadcast", broadcast.Collective},
		{"reduce", reduce.Collective},
		{"gather", gather.Collective},
		{"scatter", scatter.Collective},
		{"alltoall", alltoall.Collective},
		{"barrier", barrier.Collective},
	}
}

// Names lists the names of all collectives, and makes none of them.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}

// Collectives lists all collectives. Callers must not change them: they are shared.
func Collectives() []*collective.Collective {
	var all []*collective.Collective
	for _, e := range entries() {
		all = append(all, e.make())
	}
	return all
}

// Find looks a collective up by its name or an alias. By a name it makes only that collective, because every rank of a
// job looks up its own.
func Find(word string) (*collective.Collective, bool) {
	for _, e := range entries() {
		if e.name == word {
			return e.make(), true
		}
	}
	for _, c := range Collectives() {
		if slices.Contains(c.Aliases, word) {
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
