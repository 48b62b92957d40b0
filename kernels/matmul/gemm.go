package matmul

import (
	"fmt"
	"math"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// GEMM multiplies local matrices: the M x K of [Params].A by that of B, into C.
type GEMM struct {
	Name    string
	Kernels []collective.Kernel
	// Gathered, Scattered and Everywhere are the kernels with that exchange (cuda/exchange.cuh), if there are any.
	Gathered, Scattered, Everywhere []collective.Kernel
	// Parts is the number of parts in which a rank gets rows x n of products that it adds up, TileParts that of a tile, or
	// of the tiles that are multiplied together, and PartBytes the size of one.
	Parts                func(rows, n int64) int64
	TileParts, PartBytes int64
	// Cost is the time on so many multiprocessors, in a unit that GEMMs of the same name share; nil: there is only one of
	// the name.
	Cost func(w shardedProblem, sms int) int64
	// Shape is the launch on a device with so many multiprocessors, with PDL where the kernel allows it.
	Shape func(w shardedProblem, sms int) cudart.Launch
	// Tiles is the number of tiles, in so many shards of rows, whose times the kernel records, at most; nil: none. See
	// Algorithm.Tiles.
	Tiles func(p Problem, shards int) int64
	// Complete fills in parameters that only this kernel reads; nil: there are none.
	Complete func(r *Runner, p *Params, w shardedProblem) error
	// CopiesLocalShard: the kernels of Gathered copy the local shard into the gathered matrix.
	CopiesLocalShard bool
	// BLAS: a library multiplies; all fields above but Name are empty.
	BLAS bool
}

// shardedProblem is what a kernel is launched for: a problem in so many shards of rows.
type shardedProblem struct {
	Problem
	shards  int
	isLocal bool  // a product of local matrices, in one shard
	gathers bool  // the peers' shards of A arrive during the call
	peers   int   // ranks that each sum is stored to besides its owner
	rowsOfA int64 // of this rank
}

// choose picks the first GEMM of a list that has a kernel for a problem on the device, and of those of its name the
// one that takes the least time.
func choose(gemms []*GEMM, kernels func(*GEMM) []collective.Kernel, w shardedProblem,
	on GPU,
) (*GEMM, collective.Kernel, error) {
	var best *GEMM
	var kernel collective.Kernel
	least := int64(math.MaxInt64)
	for _, g := range gemms {
		k, ok := find(kernels(g), w.DType, on.SM)
		if !ok && !g.BLAS || best != nil && g.Name != best.Name {
			continue
		}
		cost := least
		if g.Cost != nil {
			cost = g.Cost(w, on.SMs)
		}
		if best == nil || cost < least {
			best, kernel, least = g, k, cost
		}
	}
	if best == nil {
		return nil, kernel, fmt.Errorf("no kernel multiplies %s on compute capability %d.%d", w.Problem, on.SM/10, on.SM%10)
	}
	return best, kernel, nil
}

// waves is the number of waves of tiles: one where all tiles are multiplied at once.
func (g *GEMM) waves(w shardedProblem, sms int) int64 {
	return tiles(g.Tiles(w.Problem, w.shards), int64(g.Shape(w, sms).Blocks))
}

// partsOfShard is the number of parts of each rank's products of a shard.
func (g *GEMM) partsOfShard(p Problem, world int) int64 { return g.Parts(rowsOfShard(p.M, world), p.N) }

// boxBytes is the size of an inbox, and of an outbox.
func (g *GEMM) boxBytes(p Problem, world int) int64 {
	return int64(world) * g.partsOfShard(p, world) * g.PartBytes
}

// complete is Complete, if there is any.
func (g *GEMM) complete(r *Runner, p *Params, w shardedProblem) error {
	if g.Complete == nil {
		return nil
	}
	return g.Complete(r, p, w)
}

// ofProduct lists the kernels of a GEMM that only multiply.
func ofProduct(g *GEMM) []collective.Kernel { return g.Kernels }

// ofGathered lists the kernels of a GEMM whose A arrives while it is multiplied.
func ofGathered(g *GEMM) []collective.Kernel { return g.Gathered }

// tilesOf is the largest Tiles of some GEMMs; nil: none records times.
func tilesOf(gemms []*GEMM) func(p Problem, world int) int64 {
	if !slices.ContainsFunc(gemms, func(g *GEMM) bool { return g.Tiles != nil }) {
		return nil
	}
	return func(p Problem, _ int) (most int64) {
		for _, g := range gemms {
			if g.Tiles != nil {
				most = max(most, g.Tiles(p, 1))
			}
		}
		return most
	}
}

// stagedPitch is how many bytes the rows of a staged tile of so many columns are apart in shared memory: kStagedPitch
// in cuda/exchange.cuh.
func stagedPitch(columns int64) int64 { return 2*columns + 16 }
