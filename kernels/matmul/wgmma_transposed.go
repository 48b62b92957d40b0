package matmul

import (
	"math"

	"gpurun/cudart"
)

// transposedWidths lists the widths of tiles of transposed products. A tile has all rows of A.
func transposedWidths() []wgmma { return []wgmma{64, 128} }

// transposedGEMM multiplies an A of few rows by wgmma.cu: C^T = B^T x A^T, as cuda/transposed.cuh explains.
func transposedGEMM(columns wgmma) *GEMM {
	return &GEMM{
		Name: "wgmma", Kernels: columns.kernels("Transposed"),
		Tiles: func(p Problem, shards int) int64 {
			return wgmmaCluster * columns.pairs(transposed(shardedProblem{Problem: p}).Problem, shards)
		},
		Cost: func(w shardedProblem, sms int) int64 {
			if w.M > int64(columns) || w.N%vecElements != 0 { // rows of C are stored by bulk copies
				return math.MaxInt64
			}
			return columns.cost(transposed(w), sms)
		},
		Shape: func(w shardedProblem, sms int) cudart.Launch { return columns.grid(transposed(w), sms) },
		Complete: func(r *Runner, p *Params, w shardedProblem) error {
			p.A, p.B, p.M, p.N = p.B, p.A, p.N, p.M
			return columns.fillParams(r, p, transposed(w))
		},
	}
}

// transposed is the local product whose A is the transpose of B, and whose B is that of A.
func transposed(w shardedProblem) shardedProblem {
	w.M, w.N = w.N, w.M
	w.rowsOfA = w.M
	return w
}
