package allreduce

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces the own part of all inputs, which copy engines pull, and pushes the
// result to all.
func CopyEngine() *collective.Algorithm {
	const blocks = 128
	return copyengine.Reduce(name, "copy engines pull the own part, kernels push its reduction; the largest sizes", blocks,
		copyengine.LargestPart,
		func(rank, world int, call collective.Call) copyengine.Share {
			begin, bytes := copyengine.Part(rank, world, call.Bytes())
			return copyengine.Share{Begin: begin, Bytes: bytes, To: world, Recv: call.Recv + begin, Pieces: copyengine.Pushed}
		})
}
