package matmul

import (
	"gpurun/cudart"
)

// How skinny.cu divides a problem whose A has more rows than one warpgroup multiplies. A is then as much to load as B:
// wide tiles load it less often, and parts of K load less of it.
const (
	tallColumns     = 128 // of C, in a tile, at most
	tallLeastStages = 3   // of a block. With one, producer and consumers would wait for each other

	// What bounds the time on an H200, in bytes of a nanosecond: what a multiprocessor takes in, and what DRAM gives. A
	// unit of wgmma.tileTime, in tenths of a nanosecond. In nanoseconds: from the copy of a slice of K until its stage is
	// free again, if memory is busy; what another part of K, and another block on the same multiprocessor, cost; and a
	// launch with the first slices (kernels/NOTES.md).
	tallIngest, tallFromDRAM     = 90, 3900
	tallUnit                     = 26
	tallStageTime                = 2200
	tallSplitTime, tallBlockTime = 900, 1000
	tallLaunchTime               = 3000
)

// tallGrid is the division that takes the least time, of those that give each multiprocessor as many columns. K is not
// divided into more parts than there are multiprocessors for.
func (rows skinny) tallGrid(p Problem, sms int) (best skinnyGrid) {
	least := int64(0)
	for splits := int64(1); splits <= cudart.MaxCluster; splits *= 2 {
		g := skinnyGrid{rows: rows, splits: splits, sharers: 1}
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

// tallTime is the time that a product takes beyond tallLaunchTime, in nanoseconds.
func (g skinnyGrid) tallTime(p Problem, sms int) int64 {
	const elementBytes, unitRows = 2, wgmmaRows / wgmmaCluster         // rows of what takes a unit for each column
	k, inTurn := tiles(p.K, g.splits), tiles(g.blocks(), g.slots(sms)) // of a block; blocks of a multiprocessor
	columns := max(64, 16*tiles(g.columns, 16))                        // that are multiplied
	slices := inTurn * tiles(k, wgmmaSlice)
	return max(
		inTurn*elementBytes*k*(int64(g.rows)+g.columns)/tallIngest,
		p.N*elementBytes*p.K/tallFromDRAM,
		slices*tallStageTime/(g.stages*g.together(sms)),
		slices*columns*int64(g.rows)/unitRows*tallUnit/10,
	) + (g.splits-1)*tallSplitTime + (inTurn-1)*tallBlockTime
}
