package matmul

import (
	"math"

	"gpurun/cudart"
)

// transposed is the number of columns of the tiles of a local product whose rows and columns change places: Transposed
// in cuda/exchange.cuh. These divide M, and the rows of tiles divide N.
type transposed wgmma

// transposedWidths lists the widths of tiles. Narrower ones load B once more, and take longer than those of wgmma.
func transposedWidths() []transposed { return []transposed{224, 208, 192, 176, 160, 144} }

// transposedGEMM multiplies B by A.
func transposedGEMM(columns transposed) *GEMM {
	g := wgmma(columns).productGEMM()
	return &GEMM{
		Name: g.Name, Kernels: wgmma(columns).kernels("Transposed"),
		Tiles:    func(p Problem, shards int) int64 { return g.Tiles(p.transposed(), shards) },
		Cost:     columns.cost,
		Shape:    func(w shardedProblem, sms int) cudart.Launch { return g.Shape(w.transposed(), sms) },
		Complete: columns.fillParams,
	}
}

// cost is in the unit of that of wgmma. Where B has at least twice as many rows as A, a tile takes 3% less: measured on
// an H200, see kernels/NOTES.md.
func (columns transposed) cost(w shardedProblem, sms int) int64 {
	if w.M <= skinnyMostRows || w.N%vecElements != 0 { // rows of C are stored as vectors, and by TMA
		return math.MaxInt64
	}
	time := wgmma(columns).slices(w.transposed(), sms) * wgmma(columns).tileTime()
	if 2*w.M <= w.N {
		time -= time * 3 / 100
	}
	return time
}

// fillParams exchanges the operands, and fills in the tensor maps of C and of the last columns of tiles.
func (columns transposed) fillParams(r *Runner, p *Params, w shardedProblem) (err error) {
	if p.MapC, err = r.tensorMap(matrix{p.C, p.M, p.N, int(columns), w.DType.Name}); err != nil {
		return err
	}
	p.M, p.N, p.A, p.B = p.N, p.M, p.B, p.A
	if tail := p.N % (int64(columns) / wgmmaCluster); tail > 0 {
		if p.MapBTail, err = r.tensorMap(matrix{p.B, p.N, p.K, int(tail), w.DType.Name}); err != nil {
			return err
		}
	}
	return wgmma(columns).fillParams(r, p, w.transposed())
}

// transposed is the product of B and A.
func (p Problem) transposed() Problem {
	p.M, p.N = p.N, p.M
	return p
}

func (w shardedProblem) transposed() shardedProblem {
	w.Problem, w.rowsOfA = w.Problem.transposed(), w.N
	return w
}
