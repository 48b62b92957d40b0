// Package kernels is the catalog of what gpurun can run: every collective with
// its algorithms. The command line's lists, the tests and the build of the PTX
// all read it.
package kernels

import (
	"slices"

	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
)

//go:generate go run ./ptx/build

// Collectives lists all collectives.
func Collectives() []*collective.Collective {
	return []*collective.Collective{allreduce.Collective()}
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

// Module is one file of PTX: an algorithm for an element type.
type Module struct {
	Name      string // of the file, less ".ptx"
	Algorithm *collective.Algorithm
	DType     collective.DType
}

// Modules lists all modules of all algorithms.
func Modules() []Module {
	var modules []Module
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			for _, d := range a.DTypes {
				modules = append(modules, Module{Name: a.Module(d), Algorithm: a, DType: d})
			}
		}
	}
	return modules
}
