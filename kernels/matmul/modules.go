package matmul

import (
	"slices"
	"strings"

	"gpurun/kernels/collective"
)

// find picks the kernel for a type on devices of a compute capability: of those
// that run there the one for the latest architecture.
func find(kernels []collective.Kernel, d collective.DType, sm int) (best collective.Kernel, ok bool) {
	for _, k := range kernels {
		if k.DType.Name == d.Name && k.Module.Arch.RunsOn(sm) && (!ok || k.Module.Arch.SM > best.Module.Arch.SM) {
			best, ok = k, true
		}
	}
	return best, ok
}

// ModulesOn lists the modules that an algorithm launches for a type on a compute capability, 10*major+minor, but those
// of a collective.
func (a *Algorithm) ModulesOn(d collective.DType, sm int) (names []string) {
	lists := [][]collective.Kernel{a.Kernels}
	if a.GEMM != nil {
		for _, g := range a.GEMM() {
			lists = append(lists, g.Kernels)
		}
	}
	for _, kernels := range lists {
		if k, ok := find(kernels, d, sm); ok {
			names = append(names, k.Module.Name)
		}
	}
	return names
}

// kernelsFor lists an entry point for each element type, in modules of a file that
// is compiled once for each: matmul_NAME_TYPE, from cuda/NAME.cu.
func kernelsFor(name, entry string, arch collective.Arch) []collective.Kernel {
	return compiled(name, "", entry, arch)
}

// exchangeKernels lists the kernels of a file that is compiled for each exchange of cuda/exchange.cuh and each element
// type: matmul_NAME_EXCHANGE_TYPE, from cuda/NAME.cu, with the entry point NAME.
func exchangeKernels(name, exchange string, arch collective.Arch) []collective.Kernel {
	return compiled(name, "_"+strings.ToLower(exchange), name, arch, "EXCHANGE="+exchange)
}

func compiled(name, suffix, entry string, arch collective.Arch, defines ...string) []collective.Kernel {
	var all []collective.Kernel
	for _, d := range DTypes() {
		m := collective.Module{
			Name: "matmul_" + name + suffix + "_" + d.Name, Source: "matmul/cuda/" + name + ".cu",
			Arch: arch, Defines: slices.Concat(defines, []string{"ELEMENT=" + d.Element}),
		}
		if arch != collective.SM80 {
			m.Name += "_" + arch.String()
		}
		all = append(all, collective.Kernel{Module: m, Entry: entry, DType: d, Op: collective.None})
	}
	return all
}
