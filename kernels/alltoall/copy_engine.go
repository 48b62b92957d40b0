package alltoall

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine pulls this rank's part from every peer by memory copies.
func CopyEngine() *collective.Algorithm {
	const blocks = 32
	a := copyengine.Copy(name, "barriers, memory copies from all peers, a kernel copies the local part", blocks,
		copyengine.Places{
			Own: func(rank int, call collective.Call) (to, from int64) {
				own := int64(rank) * call.Bytes()
				return call.Recv + own, call.Send + own
			},
			Peer: func(rank, peer int, call collective.Call) (to, from int64, ok bool) {
				return call.Recv + int64(peer)*call.Bytes(), call.Send + int64(rank)*call.Bytes(), true
			},
		})
	a.Needs.SeparateOutput, a.Needs.Overlap = true, true
	return a
}
