package broadcast

import "gpurun/kernels/collective"

// LL pushes the root's input to all peers as packets: ll.cu.
func LL() *collective.Algorithm {
	return collective.PacketCopy(name, "no barrier, the root pushes packets with flags; small sizes")
}
