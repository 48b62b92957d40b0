package matmul

import (
	"math"
	"strconv"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// skinny is a GEMM by skinny.cu, on compute capability 9.0: the most rows that its A may have.
type skinny int64

// skinnyHeights lists the rows of A that there is a kernel for, in ascending order: of those with room for a problem,
// which cost the same, the first is taken.
func skinnyHeights() []skinny { return []skinny{16, 32, 64, 128} }

// The tiles of skinny.cu, and what it needs of a device.
const (
	skinnyColumns     = 64        // of C, in a tile
	skinnyRows        = 64        // of A, at most, for each warpgroup that multiplies
	skinnyBarriers    = 16        // bytes of the mbarriers of a stage
	skinnyHalfShared  = 113 << 10 // bytes of each of two blocks that share a multiprocessor
	skinnyGroupRows   = 16        // of C, whose sums meet in one block
	skinnySliceTime   = 130       // in the unit of wgmma.tileTime: B crosses DRAM at 4 TB/s
	skinnyLeastSlices = 4         // of a block, where K is divided

	// skinnySharers is how many blocks share A, which L2 then sends once. Clusters of four and eight blocks fit on 120 of
	// the 132 multiprocessors of an H100: on 10 of 11.
	skinnySharers = 4
)

// gemm multiplies an A of up to so many rows.
func (rows skinny) gemm() *GEMM {
	height := strconv.Itoa(int(rows))
	return &GEMM{
		Name:    "wgmma",
		Kernels: compiled("skinny", "_"+height, "skinny", collective.SM90a, "ROWS="+height),
		Tiles: func(p Problem, _ int) int64 {
			if p.M > int64(rows) {
				return 0
			}
			return cudart.MaxCluster * tiles(p.N, skinnyColumns*skinnySharers) * skinnySharers
		},
		Cost:     rows.cost,
		Shape:    func(w shardedProblem, sms int) cudart.Launch { return rows.grid(w.Problem, sms).launch() },
		Complete: rows.fillParams,
	}
}

// cost is the time in which the B of the busiest multiprocessor arrives.
func (rows skinny) cost(w shardedProblem, sms int) int64 {
	if w.M > int64(rows) || w.N%vecElements != 0 { // rows of C are stored as vectors
		return math.MaxInt64
	}
	g := rows.grid(w.Problem, sms)
	return tiles(g.blocks(), int64(sms)) * tiles(tiles(w.K, wgmmaSlice), g.splits) * skinnySliceTime
}

// skinnyGrid is how the blocks of a launch divide a problem.
type skinnyGrid struct {
	rows    skinny
	tiles   int64 // of sharers blocks
	splits  int64 // parts of K, in blocks of one cluster
	sharers int64 // blocks of a cluster with the same part of K, which share A
	stages  int64
}

// grid divides K as long as each block has a multiprocessor of its own. Where A has many rows, blocks share it, if
// their clusters fit at once. Two blocks share a multiprocessor if that leaves enough stages, or if there are several
// waves: one then begins while the other ends.
func (rows skinny) grid(p Problem, sms int) skinnyGrid {
	columns, slices := tiles(p.N, skinnyColumns), tiles(p.K, wgmmaSlice)
	g := skinnyGrid{rows: rows, splits: 1, sharers: 1}
	for s := int64(2); s <= cudart.MaxCluster && columns*s <= int64(sms) && slices >= s*skinnyLeastSlices; s *= 2 {
		g.splits = s
	}
	g.tiles = columns
	if rows >= skinnyRows && columns >= skinnySharers && g.splits*skinnySharers <= cudart.MaxCluster {
		shared := g
		shared.tiles, shared.sharers = tiles(columns, skinnySharers), skinnySharers
		if shared.blocks()*11 <= int64(sms)*10 {
			g = shared
		}
	}
	shared := int64(wgmmaMostShared)
	if rows < skinnyRows || g.blocks() > int64(sms) {
		shared = skinnyHalfShared
	}
	g.stages = shared / (rows.stageBytes() + skinnyBarriers)
	return g
}

func (g skinnyGrid) blocks() int64 { return g.tiles * g.sharers * g.splits }

func (g skinnyGrid) launch() cudart.Launch {
	return cudart.Launch{
		PDL:         true,
		Blocks:      int(g.blocks()),
		Threads:     128*max(1, int(g.rows)/skinnyRows) + 32,
		SharedBytes: int(g.stages * (g.rows.stageBytes() + skinnyBarriers)),
		Cluster:     int(g.sharers * g.splits),
	}
}

// stageBytes is the size of a stage: a slice of K of the rows of A and of a tile's columns of B.
func (rows skinny) stageBytes() int64 { return 2 * wgmmaSlice * (int64(rows) + skinnyColumns) }

// fillParams fills in the tensor maps of the operands, whose boxes are what a block copies at a time, and how the
// launch divides the problem.
func (rows skinny) fillParams(r *Runner, p *Params, w shardedProblem) error {
	g := rows.grid(w.Problem, r.SMs)
	p.ClusterSplits, p.Stages = uint32(g.splits), uint32(g.stages)
	a, err := r.tensorMap(matrix{p.A, p.M, p.K, 0, int(int64(rows) / g.sharers), w.DType.Name})
	if err != nil {
		return err
	}
	b, err := r.tensorMap(matrix{p.B, p.N, p.K, 0, skinnyColumns, w.DType.Name})
	if err != nil {
		return err
	}
	p.MapA, p.MapB = a, b
	return nil
}
