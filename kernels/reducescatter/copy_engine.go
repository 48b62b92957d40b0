package reducescatter

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces the own part of all inputs, which copy engines pull.
func CopyEngine() *collective.Algorithm {
	const blocks = 96
	return copyengine.Reduce(name, "copy engines pull each rank's part, kernels reduce it; largest sizes", blocks,
		func(_ int, bytes int64) int64 { return bytes },
		func(rank, _ int, call collective.Call) copyengine.Share {
			begin := int64(rank) * call.Bytes()
			return copyengine.Share{Begin: begin, Bytes: call.Bytes(), To: rank, Recv: call.Recv, Pieces: copyengine.Kept}
		})
}
