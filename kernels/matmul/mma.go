package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// mmaGEMM multiplies by mma.sync, on every GPU that there are kernels for: mma.cu.
func mmaGEMM() *GEMM {
	const rows, columns = 128, 128 // of a tile
	jobs := func(name string) []collective.Kernel { return job("mma", name, collective.SM80) }
	return &GEMM{
		Name: "mma", Kernels: jobs("Product"),
		Gathered: jobs("Gathered"), Scattered: jobs("Scattered"), Everywhere: jobs("Everywhere"),
		Parts:     func(r, n int64) int64 { return tiles(r, rows) * tiles(n, columns) },
		TileParts: 1,
		PartBytes: rows * outPitch(columns),
		Tiles: func(p Problem, shards int) int64 {
			return int64(shards) * tiles(rowsOfShard(p.M, shards), rows) * tiles(p.N, columns)
		},
		Shape: func(w work, sms int) cudart.Launch {
			const stages, stage = 4, (rows + columns) * 64
			all := int64(w.shards) * tiles(rowsOfShard(w.M, w.shards), rows) * tiles(w.N, columns)
			return cudart.Launch{Blocks: int(min(all, int64(sms))), Threads: 256, SharedBytes: stages * stage}
		},
	}
}

// outPitch is how many bytes the rows of a tile of so many columns are apart in shared memory, on
// its way out: kOutPitch in output.cuh.
func outPitch(columns int64) int64 { return 2*columns + 16 }

// tiles is how many tiles of a size it takes to cover a matrix's side.
func tiles(side, tile int64) int64 { return (side + tile - 1) / tile }

// rowsOfShard is how many of m rows fall to each of some ranks; to the last, perhaps
// fewer.
func rowsOfShard(m int64, shards int) int64 { return tiles(m, int64(shards)) }
