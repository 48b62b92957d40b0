// Package examples has kernels as users of kernel files write them, each with its kernel file and its PTX. See
// docs/kernel-files.md. They use nothing of gpurun's kernels: cuda.cuh and flags.cuh are all that they include.
//
// go generate ./kernels makes the PTX. nvcc compiles the sources as well.
package examples

import (
	"fmt"

	"gpurun/kernels/collective"
)

// Modules lists the PTX of all examples.
func Modules() []collective.Module {
	modules := []collective.Module{module("gather_matmul", collective.SM90)}
	for _, name := range []string{"halo", "oneshot", "packets", "serving", "symm_oneshot", "two_launches"} {
		modules = append(modules, module(name, collective.SM80))
	}
	for _, world := range []int{2, 4} {
		for rank := range world {
			m := module("baked", collective.SM80)
			m.Name = fmt.Sprintf("baked.%d.%d", world, rank)
			m.Defines = []string{fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD=%d", world)}
			modules = append(modules, m)
		}
	}
	return modules
}

func module(name string, arch collective.Arch) collective.Module {
	return collective.Module{Name: name, Source: "examples/" + name + ".cu", Arch: arch}
}
