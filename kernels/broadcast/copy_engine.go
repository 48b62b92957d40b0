package broadcast

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine has every other rank pull the root's input by a memory copy. The root's link
// carries the data once for each peer. Out of place, a kernel writes the root's own output meanwhile: a copy engine of
// the root would compete with the peers for the root's memory.
func CopyEngine() *collective.Algorithm {
	const blocks = 16 // few, so that the copy leaves memory bandwidth for the peers' copies
	return copyengine.Copy(name, "barriers, memory copies from the root, whose own is made by a kernel", blocks,
		copyengine.Places{
			Own: func(rank int, call collective.Call) (to, from int64) {
				if rank != call.Root {
					return 0, 0
				}
				return call.Recv, call.Send
			},
			Peer: func(_, peer int, call collective.Call) (to, from int64, ok bool) {
				return call.Recv, call.Send, peer == call.Root
			},
		})
}
