package broadcast

import "gpurun/kernels/collective"

// Multimem stores the root's input to the multicast address: multimem.cu.
func Multimem() *collective.Algorithm { return collective.MulticastCopy(name) }
