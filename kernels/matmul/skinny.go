package matmul

import (
	"math"
	"strconv"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// skinny is a GEMM by skinny.cu, on compute capability 9.0, in which rows and columns change places: the most rows that
// its A may have.
type skinny int64

// skinnyHeights lists the rows of A that there is a kernel for, in ascending order. Of these, the first one with room
// for a problem is taken.
func skinnyHeights() []skinny { return []skinny{16, 32, 64, 112, 128, 160, 192} }

// below is the largest of some heights below one, or 0.
func below[T ~int64](height T, heights []T) (next int64) {
	for _, h := range heights {
		if h < height {
			next = int64(h)
		}
	}
	return next
}

// The tiles of skinny.cu, and what it needs of a device.
const (
	skinnyColumns     = 64             // of C, in a tile, at most
	skinnyRows        = 64             // of A, at most, where four blocks may share it
	skinnyBarriers    = 16             // bytes of the mbarriers of a stage
	skinnyGroup       = 16             // columns of the multiplication whose sums are sent together
	skinnyGroupBytes  = 4 << 10        // of these sums
	skinnyPairRows    = 2 * skinnyRows // of A, at most, where two blocks may share a multiprocessor
	skinnyAlwaysRows  = 2 * skinnyRows // of A, up to which no other GEMM is chosen
	skinnyMostRows    = 3 * skinnyRows // of A, at most
	skinnyHalfShared  = 113 << 10      // bytes of each of the two
	skinnySliceTime   = 130            // in the unit of wgmma.tileTime: B crosses DRAM at 4 TB/s
	skinnyLeastSlices = 4              // of a block, where K is divided

	// skinnySharers is how many blocks share A, which L2 then sends once.
	skinnySharers = 4
)

// gemm multiplies an A of up to so many rows.
func (rows skinny) gemm() *GEMM {
	return skinnyGEMM(int64(rows), "", rows.cost, func(p Problem, sms int) skinnyGrid { return rows.grid(p, sms) })
}

// skinnyGEMM is the GEMM of a module of skinny.cu, with a mark in its name, for so many rows.
func skinnyGEMM(
	rows int64, mark string, cost func(shardedProblem, int) int64, grid func(Problem, int) skinnyGrid,
) *GEMM {
	height, isTall := strconv.FormatInt(rows, 10), "0"
	if mark != "" {
		isTall = "1"
	}
	return &GEMM{
		Name:    "wgmma",
		Kernels: compiled("skinny", mark+"_"+height, "skinny", collective.SM90a, "ROWS="+height, "TALL="+isTall),
		Tiles: func(p Problem, _ int) int64 {
			if p.M > rows {
				return 0
			}
			return cudart.MaxCluster * tiles(p.N, vecElements*skinnySharers) * skinnySharers
		},
		Cost:  cost,
		Shape: func(w shardedProblem, sms int) cudart.Launch { return grid(w.Problem, sms).launch() },
		Complete: func(r *Runner, p *Params, w shardedProblem) error {
			return grid(w.Problem, r.SMs).fillParams(r, p, w)
		},
	}
}

// cost is the time in which the B of the busiest multiprocessor arrives; of more than skinnyRows rows, for which there
// are other kernels, that of [skinnyGrid.skinnyTime].
func (rows skinny) cost(w shardedProblem, sms int) int64 {
	// rows of C are stored as vectors
	if w.M > int64(rows) || w.M <= below(rows, skinnyHeights()) || w.N%vecElements != 0 {
		return math.MaxInt64
	}
	g := rows.grid(w.Problem, sms)
	if rows > skinnyRows {
		return inUnits(g.skinnyTime(w.Problem, sms))
	}
	return tiles(g.blocks(), int64(sms)) * tiles(tiles(w.K, wgmmaSlice), g.splits) * skinnySliceTime
}

// skinnyGrid is how the blocks of a launch divide a problem.
type skinnyGrid struct {
	rows    int64 // of A, that the kernel has room for
	isTall  bool  // the kernel multiplies rows of A by columns of B
	columns int64 // of a tile
	tiles   int64 // of sharers blocks
	splits  int64 // parts of K, in blocks of one cluster
	sharers int64 // blocks of a cluster with the same part of K, which share A
	stages  int64
	inbox   int64 // bytes of a block's shared memory for the sums of other parts of K, and an mbarrier
}

// grid divides K as long as the clusters fit at once. Where A has many rows, blocks share it, likewise.
func (rows skinny) grid(p Problem, sms int) skinnyGrid {
	slices := tiles(p.K, wgmmaSlice)
	g := skinnyGrid{rows: int64(rows), columns: skinnyTileColumns(p.N, sms), splits: 1, sharers: 1}
	g.tiles = tiles(p.N, g.columns)
	for next := g; ; g = next {
		next.splits *= 2
		if next.splits > cudart.MaxCluster || next.splits*skinnyLeastSlices > slices || !next.fits(sms) {
			break
		}
	}
	if shared := g; rows == skinnyRows && g.tiles >= skinnySharers && g.splits*skinnySharers <= cudart.MaxCluster {
		shared.tiles, shared.sharers = tiles(g.tiles, skinnySharers), skinnySharers
		if shared.fits(sms) {
			g = shared
		}
	}
	return g.fill(p, sms)
}

// fill adds the inbox, and as many stages as fit beside it.
func (g skinnyGrid) fill(p Problem, sms int) skinnyGrid {
	columns := p.M // of the multiplication
	if g.isTall {
		columns = g.columns
	}
	g.inbox = skinnyBarriers + (g.splits-1)*tiles(g.consumers()*tiles(columns, skinnyGroup), g.splits)*skinnyGroupBytes
	bytes := int64(wgmmaMostShared)
	if g.together(sms) > 1 {
		bytes = skinnyHalfShared
	}
	g.stages = (bytes - g.inbox) / (g.stageBytes() + skinnyBarriers)
	return g
}

// consumers is how many warpgroups multiply.
func (g skinnyGrid) consumers() int64 {
	if g.isTall {
		return g.rows / tallRows
	}
	return 1
}

// together is how many blocks share a multiprocessor: two if A has few rows, which leaves enough stages, or if there
// are several waves and registers for two. One then begins while the other ends.
func (g skinnyGrid) together(sms int) int64 {
	if g.rows < skinnyRows || g.rows <= skinnyPairRows && !g.fits(sms) {
		return 2
	}
	return 1
}

// skinnyTileColumns is the width of tiles: so narrow that as many multiprocessors as possible have one, or two where
// there are more tiles. Where K can be divided for that, tiles have all columns.
func skinnyTileColumns(n int64, sms int) int64 {
	widest, slots := tiles(n, skinnyColumns), int64(sms)
	if 2*widest <= slots {
		return skinnyColumns
	}
	if widest > slots {
		slots *= 2
	}
	return vecElements * tiles(n, vecElements*slots*tiles(widest, slots))
}

func (g skinnyGrid) blocks() int64 { return g.tiles * g.sharers * g.splits }

// fits reports whether all clusters are resident at once if each block has a multiprocessor of its own. Those of four
// and eight blocks find room on 120 of the 132 multiprocessors of an H100.
func (g skinnyGrid) fits(sms int) bool { return g.blocks() <= g.slots(sms) }

// slots is the number of multiprocessors that clusters find room on.
func (g skinnyGrid) slots(sms int) int64 {
	if g.sharers*g.splits < 4 {
		return int64(sms)
	}
	return int64(sms) * 10 / 11
}

func (g skinnyGrid) launch() cudart.Launch {
	return cudart.Launch{
		PDL:         true,
		Blocks:      int(g.blocks()),
		Threads:     128*int(g.consumers()) + 32,
		SharedBytes: int(g.stages*(g.stageBytes()+skinnyBarriers) + g.inbox),
		Cluster:     int(g.sharers * g.splits),
	}
}

// stageBytes is the size of a stage: a slice of K of the rows of A and of a tile's columns of B.
func (g skinnyGrid) stageBytes() int64 {
	if g.isTall {
		return 2 * wgmmaSlice * (g.rows + g.columns)
	}
	return 2 * wgmmaSlice * (g.rows + skinnyColumns)
}

// fillParams fills in the tensor maps of the operands, whose boxes are what a block copies at a time, and how the
// launch divides the problem.
func (g skinnyGrid) fillParams(r *Runner, p *Params, w shardedProblem) error {
	p.ClusterSplits, p.Stages, p.TileColumns = uint32(g.splits), uint32(g.stages), uint32(g.columns)
	a := matrix{p.A, p.M, p.K, int(p.M), w.DType.Name}
	if g.sharers > 1 {
		a.boxRows = int(g.rows / g.sharers)
	}
	var err error
	if p.MapA, err = r.tensorMap(a); err != nil {
		return err
	}
	p.MapB, err = r.tensorMap(matrix{p.B, p.N, p.K, int(g.columns), w.DType.Name})
	return err
}
