package reduce

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine has every rank but the root reduce its share of all inputs, which copy engines
// pull, and push the result to the root. Of two ranks, the root reduces everything. No link
// then carries more than the data once each way: see p2p.cu.
func CopyEngine() *collective.Algorithm {
	const blocks = 128
	return copyengine.Reduce(name, "copy engines pull a share, kernels push its reduction to the root; the largest sizes",
		blocks,
		func(world int, bytes int64) int64 { return copyengine.LargestPart(max(world-1, 1), bytes) }, shareOf)
}

// shareOf is what a rank reduces.
func shareOf(rank, world int, call collective.Call) copyengine.Share {
	share := copyengine.Share{To: call.Root, Pieces: copyengine.Pushed}
	switch {
	case world <= 2 && rank == call.Root:
		share.Bytes, share.Pieces = call.Bytes(), copyengine.Kept
	case world > 2 && rank != call.Root:
		reducer := rank
		if rank > call.Root {
			reducer--
		}
		share.Begin, share.Bytes = copyengine.Part(reducer, world-1, call.Bytes())
	}
	share.Recv = call.Recv + share.Begin
	return share
}
