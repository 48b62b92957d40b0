package matmul

import (
	"fmt"
	"math"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul/schedule"
)

// wgmma is the number of columns of the tiles of a GEMM by wgmma.cu, on compute capability 9.0.
type wgmma int64

// wgmmaWidths lists the widths of tiles. Wider tiles load less for each product; narrower ones leave fewer
// multiprocessors idle in the last wave of some problems.
func wgmmaWidths() []wgmma { return []wgmma{256, 224, 128} }

// productWidths lists further widths of tiles of local products, which have a kernel for one exchange only. They leave
// fewer multiprocessors idle where there are a few waves or less.
func productWidths() []wgmma { return []wgmma{208, 192, 176, 160, 144, 112, 96} }

// kernels lists the kernels of an exchange, one for each element type.
func (columns wgmma) kernels(exchange string) []collective.Kernel {
	return compiled("wgmma", fmt.Sprintf("_%s_%d", strings.ToLower(exchange), columns), "wgmma", collective.SM90a,
		"EXCHANGE="+exchange, fmt.Sprintf("COLUMNS=%d", columns))
}

// wgmmaGEMM multiplies by wgmma on compute capability 9.0: cuda/wgmma.cu.
func wgmmaGEMM(columns wgmma) *GEMM {
	g := columns.productGEMM()
	_, chunkBuffer := columns.sharedLayout()
	g.Gathered, g.Scattered, g.Everywhere = columns.kernels("Gathered"), columns.kernels("Scattered"),
		columns.kernels("Everywhere")
	g.CopiesLocalShard = chunkBuffer > 0
	return g
}

// productGEMM multiplies local matrices only.
func (columns wgmma) productGEMM() *GEMM {
	return &GEMM{
		Name: "wgmma", Kernels: columns.kernels("Product"),
		Parts: func(r, n int64) int64 {
			return wgmmaParts * tiles(r, wgmmaRows) * tiles(n, int64(columns))
		},
		TileParts: wgmmaParts,
		PartBytes: wgmmaPartRows * columns.pitch(),
		Tiles: func(p Problem, shards int) int64 {
			return wgmmaCluster * columns.pairs(shardedProblem{Problem: p, shards: shards})
		},
		Cost:     columns.cost,
		Shape:    columns.grid,
		Complete: columns.fillParams,
	}
}

// pairs is the number of pairs of tiles; a cluster multiplies a pair at a time. Those of a local product whose last row
// of tiles would be alone lie side by side there: PairOrder in cuda/tile_order.cuh.
func (columns wgmma) pairs(w shardedProblem) int64 {
	rows, across := rowsOfShard(w.M, w.shards), tiles(w.N, int64(columns))
	if down := tiles(rows, wgmmaRows/wgmmaCluster); w.isLocal && down%wgmmaCluster > 0 {
		return down/wgmmaCluster*across + tiles(across, wgmmaCluster)
	}
	return int64(w.shards) * tiles(rows, wgmmaRows) * across
}

// cost is the time of the cluster with the most slices to multiply. It is not to be chosen where skinny.cu is faster,
// which that one's cost does not say of all GPUs.
func (columns wgmma) cost(w shardedProblem, sms int) int64 {
	if w.isLocal && w.M <= skinnyAlwaysRows && w.N%vecElements == 0 {
		return math.MaxInt64
	}
	return columns.slices(w, sms) * columns.tileTime()
}

// slices is how many slices the cluster with the most multiplies.
func (columns wgmma) slices(w shardedProblem, sms int) int64 {
	l := columns.lastWave(w, sms)
	return l.Full/clustersOn(sms)*l.Slices + l.Time()
}

// tileTime is the time of a tile; the unit is the time of the tensor cores for one column. Measured on an H200 whose
// power is capped: kernels/NOTES.md.
func (columns wgmma) tileTime() int64 {
	return map[wgmma]int64{
		256: 272, 224: 236, 208: 225, 192: 204, 176: 188, 160: 178, 144: 160, 128: 148, 112: 132, 96: 124,
	}[columns]
}

// linkBytes is the number of bytes that an H200's links carry in one direction in a cycle of its multiprocessors.
// sliceCycles is the number of cycles of a slice of K, in the unit of tileTime.
const linkBytes, sliceCycles = 214, 4

// lastWave describes the last wave of tiles.
func (columns wgmma) lastWave(w shardedProblem, sms int) schedule.LastWave {
	clusters, pairs := clustersOn(sms), columns.pairs(w)
	l := schedule.LastWave{Tiles: pairs % clusters, Slices: tiles(w.K, wgmmaSlice)}
	l.Full = pairs - l.Tiles
	// In a gather whose peers' tiles are in the first wave, the clusters with fewer tiles are those that wait for a
	// shard: they would be late with pieces.
	idleAreLate := w.gathers && w.shards > 1 && pairs < clusters*int64(w.shards)
	if l.Tiles > 0 && !idleAreLate {
		l.Idle = clusters - l.Tiles
	}
	if l.Full > 0 { // else peers' tiles come first, and are sent meanwhile
		own := min(l.Tiles, pairs/int64(w.shards))
		sums := own * wgmmaRows * int64(columns) * int64(w.DType.Size) * int64(w.peers)
		l.Stagger = sums / (linkBytes * sliceCycles * columns.tileTime())
	}
	return l
}

func (columns wgmma) grid(w shardedProblem, sms int) cudart.Launch {
	shared, _ := columns.sharedLayout()
	l, clusters := columns.lastWave(w, sms), clustersOn(sms)
	if l.Full == 0 && l.Split().Tiles == 0 {
		clusters = l.Tiles
	}
	return cudart.Launch{
		PDL:         !l.IsPlaced(clustersOn(sms)),
		Blocks:      wgmmaCluster * int(clusters),
		Threads:     3 * 128,
		SharedBytes: shared,
		Cluster:     wgmmaCluster,
	}
}

// sharedLayout is the size of a block's shared memory and of each of its two chunk buffers (0: none), as SharedLayout
// in cuda/shared_layout.cuh computes them: as many stages of the operands as fit beside a staged tile and mbarriers.
func (columns wgmma) sharedLayout() (shared, chunkBuffer int) {
	const rows, unit, mostBuffer = wgmmaRows / wgmmaCluster, 2 << 10, 8 << 10
	barriers := 320
	if columns < 128 {
		barriers = 384 // for more stages
	}
	const stageOfA = 2 * wgmmaSlice * rows
	stageOfB := 2 * wgmmaSlice * int(columns)
	fixed := rows*int(columns.pitch()) + barriers
	stages := (wgmmaMostShared - fixed) / (stageOfA + stageOfB)
	fixed += stages * stageOfA
	fixed += (wgmmaMostShared - fixed) / stageOfB * stageOfB
	chunkBuffer = min((wgmmaMostShared-fixed)/2/unit*unit, mostBuffer)
	return fixed + 2*chunkBuffer, chunkBuffer
}

// pitch is how many bytes the rows of a staged tile are apart.
func (columns wgmma) pitch() int64 { return stagedPitch(int64(columns)) }

// fillParams fills in the tensor maps of the operands, whose boxes are what a block copies at a time, the placement of
// clusters, and split-K.
func (columns wgmma) fillParams(r *Runner, p *Params, w shardedProblem) error {
	a := matrix{p.A, w.rowsOfA, p.K, wgmmaRows / wgmmaCluster, w.DType.Name}
	full := a
	full.address, full.rows = p.AFull, p.M
	aTail, fullTail := a, full
	if tail := rowsOfShard(w.M, w.shards) % (wgmmaRows / wgmmaCluster); tail > 0 {
		aTail.boxRows, fullTail.boxRows = int(tail), int(tail)
	}
	for _, m := range []struct {
		to *encodedMap
		of matrix
	}{
		{&p.MapA, a},
		{&p.MapAFull, full},
		{&p.MapATail, aTail},
		{&p.MapAFullTail, fullTail},
		{&p.MapB, matrix{p.B, p.N, p.K, int(columns) / wgmmaCluster, w.DType.Name}},
	} {
		text, err := r.tensorMap(m.of)
		if err != nil {
			return err
		}
		*m.to = text
	}
	l := columns.lastWave(w, r.SMs)
	placement, err := r.placement(l)
	if err != nil {
		return err
	}
	copy(p.FirstTiles[:], placement)
	return r.splitLastWave(p, l)
}
