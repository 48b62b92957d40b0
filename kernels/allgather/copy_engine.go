package allgather

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine pulls every peer's part by memory copies. In place, the own part is there
// already.
func CopyEngine() *collective.Algorithm {
	const blocks = 16 // few, so that the copy leaves memory bandwidth for the peers' copies
	a := copyengine.Copy(name, "barriers, memory copies from all peers, a kernel copies the local part", blocks,
		copyengine.Places{
			Own: func(rank int, call collective.Call) (to, from int64) {
				return call.Recv + int64(rank)*call.Bytes(), call.Send
			},
			Peer: func(rank, peer int, call collective.Call) (to, from int64, ok bool) {
				return call.Recv + int64(peer)*call.Bytes(), call.Send + int64(peer-rank)*call.SendStep, true
			},
		})
	a.Needs.Overlap = true
	return a
}
