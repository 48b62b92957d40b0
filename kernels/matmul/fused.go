package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// The algorithms here multiply while they communicate.

// fused is a GEMM whose kernel has a job beyond the product: see output.cuh.
type fused struct {
	name, summary string
	// kernels are those of the job.
	kernels func(g *GEMM) []collective.Kernel
	// gathers: A arrives meanwhile. Else products are reduced, for their owners, or everywhere.
	gathers, everywhere bool
	sending             sending
}

// sending is how products get to their owners.
type sending int

const (
	asSuits sending = iota
	pushed          // by kernels
	copied          // by copy engines
)

// algorithm describes it.
func (f fused) algorithm() *Algorithm {
	a := &Algorithm{
		Name: f.name, Summary: f.summary, MaxRanks: collective.MaxRanks, Peers: true, Chunked: f.gathers, CopiesBehind: f.sending == copied,
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
		return f.most(func(g *GEMM) int64 { return f.boxes() * g.boxBytes(p, world) })
	}
	a.Counters = func(p Problem, world int) int64 {
		return productWords(world, f.most(func(g *GEMM) int64 { return g.partsOfShard(p, world) }))
	}
	return a
}

// most is the most that any GEMM with the job has of something.
func (f fused) most(of func(*GEMM) int64) (most int64) {
	for _, g := range GEMMs() {
		if len(f.kernels(g)) > 0 {
			most = max(most, of(g))
		}
	}
	return most
}

// boxes is how many the staging has: an inbox, and an outbox where products may be copied.
func (f fused) boxes() int64 {
	if f.sending == pushed {
		return 1
	}
	return 2
}

// work is what a rank's kernel is launched for.
func (f fused) work(r *Runner, call Call) work {
	w := work{Problem: call.Problem, shards: r.World(), gathers: f.gathers, rowsOfA: call.M}
	if f.gathers {
		w.rowsOfA = rowsOfShard(call.M, r.World())
	}
	if f.everywhere {
		w.peers = r.World() - 1
	}
	return w
}

// launching is what a kernel is launched with.
type launching struct {
	gemm   *GEMM
	kernel cudart.Kernel
	shape  cudart.Launch
	Params
}

func (f fused) launch(r *Runner, call Call) (launching, error) {
	l, w := launching{Params: r.Params(call)}, f.work(r, call)
	g, k, err := choose(GEMMs(), f.kernels, w, r.gpu())
	if err != nil {
		return l, err
	}
	if l.kernel, err = r.Load(k); err != nil {
		return l, err
	}
	l.gemm, l.shape = g, r.shape(g, k, w)
	l.Segment = uint32(g.partsOfShard(call.Problem, r.World())) // or more tiles than there are: all
	switch {
	case f.gathers:
	case f.copies(r, call, g):
		l.copyProducts(call.Problem, r.World())
	default:
		l.pushProducts(call.Problem, r.World())
		if f.everywhere {
			l.Segment = l.segment(call.Problem, r.World())
		}
	}
	return l, g.complete(r, &l.Params, w)
}

// copies reports whether products are copied to their owners. That takes longer than to push them, but takes nothing
// from the multiprocessors: it suits where they multiply more tiles meanwhile, as many one after the other as there are
// ranks, of which each makes another shard's products at a time, and three times as many where sums go everywhere, among
// more than two ranks, which then do better to make segments of shards in turn (kernels/NOTES.md). Copies come behind the
// kernel that they wait for, and so never, where a launch blocks the host. All ranks choose alike.
func (f fused) copies(r *Runner, call Call, g *GEMM) bool {
	if r.World() == 1 || f.sending == pushed {
		return false
	}
	rounds := int64(r.World())
	if f.everywhere && rounds > 2 {
		rounds *= 3
	}
	return f.sending == copied || g.rounds(f.work(r, call), r.SMs) >= rounds && !r.LaunchesBlock
}

// segment is how many tiles of a shard are made before those of the next, where products are pushed and sums go
// everywhere: see Interleaved in tiles.cuh. Of all shards they are a round, a tile for each block or cluster, so that products
// have a round to arrive in before their owner's tiles wait for them.
func (l *launching) segment(p Problem, world int) uint32 {
	ofShard := l.gemm.partsOfShard(p, world) / l.gemm.TileParts
	return uint32(tiles(ofShard*int64(l.shape.Blocks), l.gemm.Tiles(p, world)))
}

func (f fused) prepare(r *Runner, call Call) error {
	if f.gathers {
		if err := r.prepareForks(); err != nil {
			return err
		}
	}
	_, err := f.launch(r, call)
	return err
}

// enqueue multiplies while shards are on their way: those of A to this rank, or the
// products of this rank to their owners. The kernel knows by itself which peers have begun, and ends
// when all has come that it gets of them.
func (f fused) enqueue(r *Runner, call Call) error {
	l, err := f.launch(r, call)
	if err != nil {
		return err
	}
	r.Epoch++
	l.Epoch = r.Epoch
	launch := func() error { return r.Main.Launch(l.kernel, l.shape, l.Bytes()) }
	switch {
	case f.gathers:
		return r.gatherBeside(call, &l, launch)
	case l.Outbox != 0:
		return r.pullBeside(call, &l, launch)
	}
	return launch()
}

// ofGathered are the kernels that multiply what arrives meanwhile.
func ofGathered(g *GEMM) []collective.Kernel { return g.Gathered }

func fusedGather() *Algorithm {
	return fused{
		name: "fused", summary: "copy engines gather A while a GEMM multiplies what has arrived",
		kernels: ofGathered, gathers: true,
	}.algorithm()
}

// fusedReductions are the ways to send products to their owners, what suits the shape last; then says what
// becomes of the sums.
func fusedReductions(kernels func(g *GEMM) []collective.Kernel, everywhere bool, then string) []*Algorithm {
	var all []*Algorithm
	for _, f := range []fused{
		{name: "fused_push", summary: "a GEMM pushes the peers' tiles to them as they are done", sending: pushed},
		{name: "fused_copy", summary: "a GEMM leaves the peers' tiles to their copy engines as they are done", sending: copied},
		{name: "fused", summary: "by kernel or copy engine, as suits the shape: a GEMM has its tiles sent to their owners"},
	} {
		f.kernels, f.everywhere, f.summary = kernels, everywhere, f.summary+then
		all = append(all, f.algorithm())
	}
	return all
}

func fusedScatter() []*Algorithm {
	return fusedReductions(func(g *GEMM) []collective.Kernel { return g.Scattered }, false, ", and adds up its own")
}

func fusedEverywhere() []*Algorithm {
	return fusedReductions(func(g *GEMM) []collective.Kernel { return g.Everywhere }, true, ", adds up its own, and pushes the sums to all")
}
