package reducescatter

import (
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces the own part of all inputs, which copy engines pull.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective:   name,
		Name:         "copy_engine",
		Summary:      "copy engines pull the own part, kernels reduce it; the largest sizes",
		Kernels:      copyengine.ReduceKernels(),
		Others:       barrier.FlagKernels(),
		MaxRanks:     collective.MaxRanks,
		Needs:        collective.Needs{Peers: true},
		Blocks:       96,
		ScratchBytes: copyengine.ScratchBytes,
	}
	a.Enqueue = copyengine.Reduce(a, func(rank, _ int, call collective.Call) copyengine.Share {
		begin := int64(rank) * call.Bytes()
		return copyengine.Share{Begin: begin, Bytes: call.Bytes(), To: rank, Recv: call.Recv, Pieces: copyengine.Kept}
	})
	return a
}
