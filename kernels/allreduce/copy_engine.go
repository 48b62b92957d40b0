package allreduce

import (
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces the own part of all inputs, which copy engines pull, and pushes the
// result to all.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "copy engines pull the own part, kernels push its reduction; the largest sizes",
		Kernels:    copyengine.ReduceKernels(),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     128,
		ScratchBytes: func(world int, bytes int64) int64 {
			_, most := copyengine.Part(world-1, world, bytes)
			return copyengine.ScratchBytes(world, most)
		},
	}
	a.Enqueue = copyengine.Reduce(a, func(rank, world int, call collective.Call) copyengine.Share {
		begin, bytes := copyengine.Part(rank, world, call.Bytes())
		return copyengine.Share{Begin: begin, Bytes: bytes, To: world, Recv: call.Recv + begin, Pieces: copyengine.Pushed}
	})
	return a
}
