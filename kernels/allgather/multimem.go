package allgather

import "gpurun/kernels/collective"

// Multimem stores the own part to the multicast address: multimem.cu.
func Multimem() *collective.Algorithm { return collective.MulticastCopy(name) }
