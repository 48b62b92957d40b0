package matmul

import (
	"math"

	"gpurun/cudart"
)

// tall is a GEMM by skinny.cu in which rows and columns do not change places, with wider tiles: the most rows that its
// A may have. A is as much to load as B where there are many columns: wide tiles load it less often.
type tall int64

const (
	tallRows        = 64  // of A, for each warpgroup
	tallColumns     = 128 // of C, in a tile, at most
	tallLeastStages = 3   // of a block. With one, producer and consumers would wait for each other
)

// tallHeights lists the rows of A that there is a kernel for, in ascending order.
func tallHeights() []tall { return []tall{2 * tallRows, 3 * tallRows} }

// gemm multiplies an A of up to so many rows.
func (rows tall) gemm() *GEMM {
	return skinnyGEMM(int64(rows), "_tall", rows.cost, func(p Problem, sms int) skinnyGrid { return rows.grid(p, sms) })
}

func (rows tall) cost(w shardedProblem, sms int) int64 {
	// rows of C are stored as vectors
	lowest := max(skinnyRows, below(rows, tallHeights()))
	if w.M > int64(rows) || w.M <= lowest || w.N%vecElements != 0 {
		return math.MaxInt64
	}
	return inUnits(rows.grid(w.Problem, sms).tallTime(w.Problem, sms))
}

// grid is the division that takes the least time, of those that give each multiprocessor as many columns. K is not
// divided into more parts than there are multiprocessors for.
func (rows tall) grid(p Problem, sms int) (best skinnyGrid) {
	least := int64(0)
	for splits := int64(1); splits <= cudart.MaxCluster; splits *= 2 {
		g := skinnyGrid{rows: int64(rows), isTall: true, splits: splits, sharers: 1}
		if splits > 1 && (splits*skinnyLeastSlices > tiles(p.K, wgmmaSlice) || splits > g.slots(sms)) {
			break
		}
		blocks := g.slots(sms) / splits
		g.columns = vecElements * tiles(p.N, vecElements*blocks*tiles(p.N, blocks*tallColumns))
		g.tiles = tiles(p.N, g.columns)
		if g = g.fill(p, sms); g.stages < tallLeastStages {
			continue // the inbox leaves too little; one part has none
		}
		if time := g.tallTime(p, sms); least == 0 || time < least {
			best, least = g, time
		}
	}
	return best
}
