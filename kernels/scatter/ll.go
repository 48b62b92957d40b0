package scatter

import "gpurun/kernels/collective"

// LL pushes every part of the root's input to its rank as packets: ll.cu.
func LL() *collective.Algorithm {
	return collective.PacketCopy(name, "no barrier, the root pushes packets with flags; small sizes")
}
