package matmul

import (
	"slices"
	"sync"

	"gpurun/kernels/allgather"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/reducescatter"
)

// Operations lists all operations: always the same, which callers do not change.
var Operations = sync.OnceValue(func() []*Operation {
	return []*Operation{allGather(), reduceScatter(), allReduce()}
})

// Names lists the names of all operations, and makes none of them.
func Names() []string {
	return []string{"allgather-matmul", "matmul-reducescatter", "matmul-allreduce"}
}

// Find looks an operation up by its name or an alias.
func Find(word string) (*Operation, bool) {
	for _, o := range Operations() {
		if word == o.Name || slices.Contains(o.Aliases, word) {
			return o, true
		}
	}
	return nil, false
}

func allGather() *Operation {
	o := &Operation{
		Name:    "allgather-matmul",
		Aliases: []string{"allgather_matmul", "all-gather-matmul", "all_gather_matmul", "ag-matmul"},
		Summary: "gather A, of which every rank has some rows, and multiply it by B",
		Gathers: true,
		Choose:  chooseGather,
	}
	return o.with(allGatherAlgorithms())
}

func reduceScatter() *Operation {
	o := &Operation{
		Name:     "matmul-reducescatter",
		Aliases:  []string{"matmul_reducescatter", "matmul-reduce-scatter", "matmul_reduce_scatter", "matmul-rs"},
		Summary:  "multiply A by B, add the products of all ranks, and leave some rows to every rank",
		Reduces:  true,
		Scatters: true,
		Choose:   chooseFused,
	}
	return o.with(reduceScatterAlgorithms())
}

func allReduce() *Operation {
	o := &Operation{
		Name:    "matmul-allreduce",
		Aliases: []string{"matmul_allreduce", "matmul-all-reduce", "matmul_all_reduce", "matmul-ar"},
		Summary: "multiply A by B, and add the products of all ranks",
		Reduces: true,
		Choose:  chooseFused,
	}
	return o.with(allReduceAlgorithms())
}

// with adds algorithms.
func (o *Operation) with(algorithms []*Algorithm) *Operation {
	for _, a := range algorithms {
		a.Operation = o.Name
	}
	o.Algorithms = algorithms
	return o
}

const (
	naiveSummary      = "one after the other: naive collective, naive GEMM; works without peer access"
	decomposedSummary = "one after the other: "
)

func allGatherAlgorithms() []*Algorithm {
	return []*Algorithm{
		gatherFirst(naiveOf(allgather.Collective()), onlyNaiveGEMM).algorithm("naive", naiveSummary),
		gatherFirst(allgather.Push(), GEMMs).algorithm("decomposed", decomposedSummary+"allgather push, GEMM"),
		fusedGather(),
		byNCCL(gatherFirst(ncclOf(allgather.Collective()), onlyBLAS)),
		productByBLAS(gatheredProduct, nil),
	}
}

func reduceScatterAlgorithms() []*Algorithm {
	return slices.Concat([]*Algorithm{
		reduceLast(naiveOf(reducescatter.Collective()), collective.PartPerRank, onlyNaiveGEMM).algorithm("naive",
			naiveSummary),
		reduceLast(reducescatter.Pull(), collective.PartPerRank, GEMMs).algorithm("decomposed",
			decomposedSummary+"GEMM, reducescatter pull"),
	}, fusedScatter(), []*Algorithm{
		byNCCL(reduceLast(ncclOf(reducescatter.Collective()), collective.PartPerRank, onlyBLAS)),
		productByBLAS(localProduct, wholeProduct),
	})
}

func allReduceAlgorithms() []*Algorithm {
	return slices.Concat([]*Algorithm{
		reduceLast(naiveOf(allreduce.Collective()), collective.OnePart, onlyNaiveGEMM).algorithm("naive", naiveSummary),
		reduceLast(allreduce.TwoShot(), collective.OnePart, GEMMs).algorithm("decomposed",
			decomposedSummary+"GEMM, allreduce twoshot"),
	}, fusedEverywhere(), []*Algorithm{
		byNCCL(reduceLast(ncclOf(allreduce.Collective()), collective.OnePart, onlyBLAS)),
		productByBLAS(localProduct, wholeProduct),
	})
}

// naiveOf is the naive algorithm of a collective, which has it first.
func naiveOf(c *collective.Collective) *collective.Algorithm { return c.Algorithms[0] }

// Modules lists the modules of all kernels of the package, each once.
func Modules() []collective.Module {
	var modules []collective.Module
	for _, k := range AllKernels() {
		if !slices.ContainsFunc(modules, func(m collective.Module) bool { return m.Name == k.Module.Name }) {
			modules = append(modules, k.Module)
		}
	}
	return modules
}

// AllKernels lists all entry points of the package's modules.
func AllKernels() []collective.Kernel {
	all := append(checkKernels(), stampKernel(), gpcsKernel())
	for _, g := range GEMMs() {
		all = slices.Concat(all, g.Kernels, g.Gathered, g.Scattered, g.Everywhere)
	}
	for _, o := range Operations() {
		for _, a := range o.Algorithms {
			all = append(all, a.Kernels...)
		}
	}
	return all
}
