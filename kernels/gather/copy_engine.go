package gather

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine has the root pull every other rank's input by a memory copy. A kernel copies the root's own meanwhile.
func CopyEngine() *collective.Algorithm {
	const blocks = 16 // as in broadcast
	a := copyengine.Copy(name, "barriers, memory copies into the root, whose own is made by a kernel", blocks,
		copyengine.Places{
			Own: func(rank int, call collective.Call) (to, from int64) {
				if rank != call.Root {
					return 0, 0
				}
				return call.Recv + int64(rank)*call.Bytes(), call.Send
			},
			Peer: func(rank, peer int, call collective.Call) (to, from int64, ok bool) {
				return call.Recv + int64(peer)*call.Bytes(), call.Send + int64(peer-rank)*call.SendStep, rank == call.Root
			},
		})
	a.Needs.Overlap = true
	return a
}
