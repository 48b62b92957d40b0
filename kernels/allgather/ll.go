package allgather

import "gpurun/kernels/collective"

// LL pushes the own part to all peers as packets: ll.cu.
func LL() *collective.Algorithm {
	return collective.PacketCopy(name, "no barrier, push packets with flags; small sizes")
}
