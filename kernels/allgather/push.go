package allgather

import "gpurun/kernels/collective"

// Push stores the own part to all: push.cu.
func Push() *collective.Algorithm {
	return collective.DirectCopy(name, "push", "barriers, every rank stores its part to all", collective.WholePart)
}
