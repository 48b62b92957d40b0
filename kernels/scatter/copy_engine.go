package scatter

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine has every other rank pull its part from the root by a memory copy. A kernel copies the root's own
// meanwhile.
func CopyEngine() *collective.Algorithm {
	const blocks = 16 // as in broadcast
	return copyengine.Copy(name, "barriers, memory copies from the root, whose own is made by a kernel", blocks,
		copyengine.Places{
			Own: func(rank int, call collective.Call) (to, from int64) {
				if rank != call.Root {
					return 0, 0
				}
				return call.Recv, call.Send + int64(rank)*call.Bytes()
			},
			Peer: func(rank, peer int, call collective.Call) (to, from int64, ok bool) {
				return call.Recv, call.Send + int64(rank)*call.Bytes(), peer == call.Root
			},
		})
}
