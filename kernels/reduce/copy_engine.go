package reduce

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine reduces a share of all inputs on every rank except the root. Copy engines pull the
// inputs, and the result is pushed to the root. Of two ranks, the root reduces everything. Each
// link then carries the data at most once in each direction: see p2p.cu.
func CopyEngine() *collective.Algorithm {
	const blocks = 128
	return copyengine.Reduce(name, "copy engines pull a share, kernels push its reduction to the root; the largest sizes",
		blocks,
		func(world int, bytes int64) int64 { return copyengine.LargestPart(max(world-1, 1), bytes) }, shareOf)
}

// shareOf returns the share that a rank reduces.
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
