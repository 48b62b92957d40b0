package matmul

import (
	"gpurun/kernels/collective"
)

// The fused algorithms multiply while they communicate.

// fused is a GEMM whose kernel has an exchange: see cuda/exchange.cuh.
type fused struct {
	name, summary string
	// kernels lists those of the exchange.
	kernels func(g *GEMM) []collective.Kernel
	// gathers: A arrives while it is multiplied. Else products are reduced: for their owners, or everywhere.
	gathers, everywhere bool
	sending             sending
}

// sending says how products get to their owners.
type sending int

const (
	sendAutomatically sending = iota // by kernels or copy engines, as fused.copies decides
	sendByPush                       // by kernels
	sendByCopy                       // by copy engines
)

// algorithm describes the fused algorithm.
func (f fused) algorithm() *Algorithm {
	a := &Algorithm{
		Name: f.name, Summary: f.summary, MaxRanks: collective.MaxRanks, Peers: true, Chunked: f.gathers,
		CopiesAfterKernel: f.sending == sendByCopy,
		Prepare:           f.prepare, Enqueue: f.enqueue,
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
		return f.most(func(g *GEMM) int64 { return f.boxCount() * g.boxBytes(p, world) })
	}
	a.Counters = func(p Problem, world int) int64 {
		return productWords(world, f.most(func(g *GEMM) int64 { return g.partsOfShard(p, world) }))
	}
	return a
}

// most is the largest value of any GEMM with the exchange.
func (f fused) most(of func(*GEMM) int64) (most int64) {
	for _, g := range GEMMs() {
		if len(f.kernels(g)) > 0 {
			most = max(most, of(g))
		}
	}
	return most
}

// boxCount is how many boxes the staging has: an inbox, and an outbox where products may be copied.
func (f fused) boxCount() int64 {
	if f.sending == sendByPush {
		return 1
	}
	return 2
}

// sharded is the problem that a rank's kernel is launched for.
func (f fused) sharded(r *Runner, call Call) shardedProblem {
	w := shardedProblem{Problem: call.Problem, shards: r.World(), gathers: f.gathers, rowsOfA: call.M}
	if f.gathers {
		w.rowsOfA = rowsOfShard(call.M, r.World())
	}
	if f.everywhere {
		w.peers = r.World() - 1
	}
	return w
}

// exchange is the name of the exchange of f.kernels: see cuda/exchange.cuh.
func (f fused) exchange() string {
	switch {
	case f.gathers:
		return "Gathered"
	case f.everywhere:
		return "Everywhere"
	}
	return "Scattered"
}

func (f fused) launch(r *Runner, call Call) (launchPlan, error) {
	l, w := launchPlan{Params: r.Params(call)}, f.sharded(r, call)
	c, err := r.choose(GEMMs(), f.exchange(), f.kernels, w)
	if err != nil {
		return l, err
	}
	if l.kernel, err = r.Load(c.kernel); err != nil {
		return l, err
	}
	g := c.gemm
	l.gemm, l.shape = g, c.launch(r)
	l.SegmentTiles = uint32(g.partsOfShard(call.Problem, r.World())) // at least all tiles of a shard
	switch {
	case f.gathers:
	case f.copies(r, call, g):
		l.copyProducts(call.Problem, r.World())
	default:
		l.pushProducts(call.Problem, r.World())
		if f.everywhere {
			l.SegmentTiles = l.segment(call.Problem, r.World())
		}
	}
	return l, g.complete(r, &l.Params, w)
}

// copies reports whether products are copied to their owners by copy engines, not pushed by kernels. A copy takes
// longer than a push, but takes nothing from the multiprocessors. It pays where these multiply other tiles meanwhile:
// in at least as many waves as there are ranks, or three times as many where sums go everywhere among more than two
// ranks, which gain from segments of shards in turn (kernels/NOTES.md). Copies are enqueued after the kernel that they
// wait for, so they cannot be used where a launch blocks the host. All ranks choose alike.
func (f fused) copies(r *Runner, call Call, g *GEMM) bool {
	if r.World() == 1 || f.sending == sendByPush {
		return false
	}
	waves := int64(r.World())
	if f.everywhere && waves > 2 {
		waves *= 3
	}
	return f.sending == sendByCopy || g.waves(f.sharded(r, call), r.SMs) >= waves && !r.LaunchesBlock
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

// enqueue multiplies while data are in flight: shards of A to this rank, or products of this rank to their owners. The
// kernel waits by itself for peers to begin, and ends when it has received all that it gets from them.
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
		return r.gatherConcurrently(call, &l, launch)
	case l.Outbox != 0:
		return r.launchAndPull(call, &l, launch)
	}
	return launch()
}

func fusedGather() *Algorithm {
	return fused{
		name: "fused", summary: "copy engines gather A while a GEMM multiplies the rows that have arrived",
		kernels: ofGathered, gathers: true,
	}.algorithm()
}

// fusedReductions lists the algorithms that send products to their owners, the automatic one last. sums ends each
// summary.
func fusedReductions(kernels func(g *GEMM) []collective.Kernel, everywhere bool, sums string) []*Algorithm {
	var all []*Algorithm
	for _, f := range []fused{
		{name: "fused_push", summary: "a GEMM stores each finished tile to the rank that adds it", sending: sendByPush},
		{
			name: "fused_copy", summary: "the copy engine of the rank that adds a tile fetches it from a GEMM",
			sending: sendByCopy,
		},
		{name: "fused", summary: "fused_push or fused_copy, by the shape of the matrices"},
	} {
		f.kernels, f.everywhere, f.summary = kernels, everywhere, f.summary+sums
		all = append(all, f.algorithm())
	}
	return all
}

func fusedScatter() []*Algorithm {
	return fusedReductions(func(g *GEMM) []collective.Kernel { return g.Scattered }, false, "")
}

func fusedEverywhere() []*Algorithm {
	return fusedReductions(func(g *GEMM) []collective.Kernel { return g.Everywhere }, true,
		"; kernels store the sums to all ranks")
}
