package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// The algorithms here multiply while they communicate.

// fused is a GEMM whose kernel has a job beyond the product: see output.cuh.
type fused struct {
	summary string
	// kernels are those of the job.
	kernels func(g *GEMM) []collective.Kernel
	// gathers: A arrives meanwhile. Else products are reduced, for their owners, or everywhere.
	gathers, everywhere bool
}

// algorithm describes it.
func (f fused) algorithm() *Algorithm {
	a := &Algorithm{
		Name: "fused", Summary: f.summary, MaxRanks: collective.MaxRanks, Peers: true, Chunked: f.gathers,
		Prepare: f.prepare, Enqueue: f.enqueue,
	}
	for _, g := range GEMMs() {
		a.Kernels = append(a.Kernels, f.kernels(g)...)
	}
	a.Tiles = func(p Problem, world int) (most int64) {
		for _, g := range GEMMs() {
			if g.Tiles != nil {
				most = max(most, g.Tiles(p, world))
			}
		}
		return most
	}
	if f.gathers {
		return a
	}
	a.Staging = func(p Problem, world int) int64 {
		return int64(world) * rowsOfShard(p.M, world) * p.N * int64(p.DType.Size)
	}
	a.Counters = func(p Problem, world int) int64 {
		most := int64(0)
		for _, g := range GEMMs() {
			if len(f.kernels(g)) > 0 {
				most = max(most, g.Counters(rowsOfShard(p.M, world), p.N))
			}
		}
		return most
	}
	return a
}

// rowsOfA is how many a rank has.
func (f fused) rowsOfA(r *Runner, call Call) int64 {
	if f.gathers {
		return rowsOfShard(call.M, r.World())
	}
	return call.M
}

// launch is what the kernel is launched with.
func (f fused) launch(r *Runner, call Call) (cudart.Kernel, cudart.Launch, Params, error) {
	p := r.Params(call)
	g, k, err := r.choose(GEMMs(), f.kernels, call.Problem, r.World())
	if err != nil {
		return nil, cudart.Launch{}, p, err
	}
	kernel, err := r.Load(k)
	if err != nil {
		return nil, cudart.Launch{}, p, err
	}
	return kernel, g.Shape(call.Problem, r.World(), r.SMs), p, g.maps(r, &p, call.DType, f.rowsOfA(r, call))
}

func (f fused) prepare(r *Runner, call Call) error {
	if f.everywhere {
		for _, k := range barrier.FlagKernels() {
			if _, err := r.Load(k); err != nil {
				return err
			}
		}
	}
	if f.gathers {
		if err := r.prepareForks(); err != nil {
			return err
		}
	}
	_, _, _, err := f.launch(r, call)
	return err
}

// enqueue multiplies while shards are on their way: those of A to this rank, or the
// products of this rank to their owners.
func (f fused) enqueue(r *Runner, call Call) error {
	kernel, shape, p, err := f.launch(r, call)
	if err != nil {
		return err
	}
	r.Epoch++
	p.Epoch = r.Epoch
	if f.gathers {
		return r.gatherBeside(call, &p, func() error { return r.Main.Launch(kernel, shape, p.Bytes()) })
	}
	// The kernel knows by itself which peers have begun. When it has ended, all products have
	// come that it waits for; sums that go everywhere come until all kernels have ended.
	if err := r.Main.Launch(kernel, shape, p.Bytes()); err != nil || !f.everywhere {
		return err
	}
	return barrier.Meet(r.Comm, r.Main, collective.EndBarrier)
}

func fusedGather() *Algorithm {
	return fused{
		summary: "copy engines gather A while a GEMM multiplies what has arrived",
		kernels: func(g *GEMM) []collective.Kernel { return g.Gathered }, gathers: true,
	}.algorithm()
}

func fusedScatter() *Algorithm {
	return fused{
		summary: "a GEMM pushes the peers' tiles to them as they are done, and adds up its own",
		kernels: func(g *GEMM) []collective.Kernel { return g.Scattered },
	}.algorithm()
}

func fusedEverywhere() *Algorithm {
	return fused{
		summary: "a GEMM pushes the peers' tiles to them as they are done, adds up its own, and pushes the sums to all",
		kernels: func(g *GEMM) []collective.Kernel { return g.Everywhere }, everywhere: true,
	}.algorithm()
}
