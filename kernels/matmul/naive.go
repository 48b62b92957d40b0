package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// naiveGEMM is a thread for each element of the result: naive.cu.
func naiveGEMM() *GEMM {
	return &GEMM{
		Name: "naive", Kernels: kernelsFor("naive", "naive_gemm", collective.SM80),
		Shape: naiveShape, Tiles: naiveTiles,
	}
}

func onlyNaiveGEMM() []*GEMM { return []*GEMM{naiveGEMM()} }

// naiveShape has a block for each tile, as far as they fit on the device at the same time.
func naiveShape(w shardedProblem, sms int) cudart.Launch {
	const blocksPerSM = 8
	return cudart.Launch{
		Blocks: int(min(naiveTiles(w.Problem, 1), int64(blocksPerSM*sms))), Threads: naiveTile * naiveTile,
	}
}

const naiveTile = 16 // rows and columns

func naiveTiles(p Problem, _ int) int64 {
	return (p.M + naiveTile - 1) / naiveTile * ((p.N + naiveTile - 1) / naiveTile)
}
