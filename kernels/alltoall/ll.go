package alltoall

import "gpurun/kernels/collective"

// LL pushes every peer its part as packets: ll.cu.
func LL() *collective.Algorithm {
	a := collective.PacketCopy(name, "no barrier, push packets with flags; small sizes")
	a.Needs.SeparateOutput = true
	return a
}
