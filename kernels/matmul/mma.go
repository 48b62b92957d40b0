package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// mmaGEMM multiplies by mma.sync, on every GPU from sm_80 on: cuda/mma.cu.
func mmaGEMM() *GEMM {
	const rows, columns = 128, 128 // of a tile
	kernels := func(exchange string) []collective.Kernel { return exchangeKernels("mma", exchange, collective.SM80) }
	return &GEMM{
		Name: "mma", Kernels: kernels("Product"),
		Gathered: kernels("Gathered"), Scattered: kernels("Scattered"), Everywhere: kernels("Everywhere"),
		Parts:     func(r, n int64) int64 { return tiles(r, rows) * tiles(n, columns) },
		TileParts: 1,
		PartBytes: rows * stagedPitch(columns),
		Tiles: func(p Problem, shards int) int64 {
			return int64(shards) * tiles(rowsOfShard(p.M, shards), rows) * tiles(p.N, columns)
		},
		Shape: func(w shardedProblem, sms int) cudart.Launch {
			const stages, stage = 4, (rows + columns) * 64
			all := int64(w.shards) * tiles(rowsOfShard(w.M, w.shards), rows) * tiles(w.N, columns)
			return cudart.Launch{Blocks: int(min(all, int64(sms))), Threads: 256, SharedBytes: stages * stage}
		},
	}
}
