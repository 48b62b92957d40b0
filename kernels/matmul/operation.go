package matmul

import (
	"fmt"
	"slices"
	"sync"

	"gpurun/kernels/collective"
)

// Operation is a product, with the algorithms that do it.
type Operation struct {
	Name    string
	Aliases []string // other accepted spellings
	Summary string
	// Gathers: every rank has M/world rows of A, rank r those from r*M/world on, and
	// gets all of A and A times its B. Otherwise it has all M rows of an A of its own.
	Gathers bool
	// Reduces: the result is the sum of all ranks' products. Each product is rounded to the element type once; they are
	// added in fp32 in rank order (fused algorithms begin with the owner's), and the sum is rounded again.
	Reduces bool
	// Scatters: rank r gets M/world rows of the result, those from r*M/world on.
	Scatters bool
	// Algorithms lists gpurun's own, the naive one first and last the one to prefer where the choice of Choose cannot run;
	// then those of libraries.
	Algorithms []*Algorithm
	// Choose picks the algorithm for a problem on some ranks: an estimate. It names one of gpurun's own, which may be unable
	// to run where the ranks' devices differ or have no peer access.
	Choose func(p Problem, world int, on GPU) string
}

// Operations lists all operations: always the same, which callers do not change.
var Operations = sync.OnceValue(func() []*Operation {
	return []*Operation{allGather(), reduceScatter(), allReduce()}
})

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

// Find looks an operation up by its name or an alias.
func Find(word string) (*Operation, bool) {
	for _, o := range Operations() {
		if word == o.Name || slices.Contains(o.Aliases, word) {
			return o, true
		}
	}
	return nil, false
}

// Algorithm finds an algorithm by name.
func (o *Operation) Algorithm(name string) (*Algorithm, bool) {
	for _, a := range o.Algorithms {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}

// Check says why so many ranks cannot share a problem, and which one they can, or returns nil.
func (o *Operation) Check(p Problem, world int) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	if over := p.M % int64(world); (o.Gathers || o.Scatters) && over != 0 {
		more := p.M - over + int64(world)
		take := fmt.Sprintf("%d or %d", p.M-over, more)
		if p.M < int64(world) {
			take = fmt.Sprint(more)
		}
		return fmt.Errorf("%s: M of %d is no multiple of %d, and every rank has as many rows: take %s", o.Name, p.M, world, take)
	}
	return nil
}

// RowsOfA and RowsOfC are how many rows of A a rank has, and of the result.
func (o *Operation) RowsOfA(p Problem, world int) int64 { return rows(o.Gathers, p, world) }

// RowsOfC is documented with RowsOfA.
func (o *Operation) RowsOfC(p Problem, world int) int64 { return rows(o.Scatters, p, world) }

func rows(shared bool, p Problem, world int) int64 {
	if shared {
		return p.M / int64(world)
	}
	return p.M
}

// Buffers says how large a rank's matrices are.
func (o *Operation) Buffers(p Problem, world int) Buffers {
	size := int64(p.DType.Size)
	b := Buffers{A: o.RowsOfA(p, world) * p.K * size, B: p.N * p.K * size, C: o.RowsOfC(p, world) * p.N * size}
	if o.Gathers {
		b.AFull = p.M * p.K * size
	}
	return b
}

// Modules lists the modules of all kernels of the package, each once.
func Modules() []collective.Module {
	var modules []collective.Module
	for _, k := range Kernels() {
		if !slices.ContainsFunc(modules, func(m collective.Module) bool { return m.Name == k.Module.Name }) {
			modules = append(modules, k.Module)
		}
	}
	return modules
}

// Kernels lists all entry points of the package's modules.
func Kernels() []collective.Kernel {
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
