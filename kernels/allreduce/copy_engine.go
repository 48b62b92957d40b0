package allreduce

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces this rank's part of all inputs, which copy engines pull, and stores the
// result to all.
func CopyEngine() *collective.Algorithm {
	const blocks = 128
	return copyengine.Reduce(name,
		"copy engines pull each rank's part, kernels reduce it and store it to all; largest sizes", blocks,
		copyengine.LargestPart,
		func(rank, world int, call collective.Call) copyengine.Share {
			begin, bytes := copyengine.Part(rank, world, call.Bytes())
			return copyengine.Share{Begin: begin, Bytes: bytes, To: world, Recv: call.Recv + begin, Pieces: copyengine.Pushed}
		})
}
