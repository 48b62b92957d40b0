package gather

import "gpurun/kernels/collective"

// LL pushes every input to the root as packets: ll.cu.
func LL() *collective.Algorithm {
	return collective.PacketCopy(name, "no barrier, push packets with flags to the root; small sizes")
}
