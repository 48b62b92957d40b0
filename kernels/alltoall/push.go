package alltoall

import "gpurun/kernels/collective"

// Push stores every peer's part to it: push.cu.
func Push() *collective.Algorithm {
	a := collective.DirectCopy(name, "push", "barriers, store each part to its rank", collective.WholePart)
	a.Needs.SeparateOutput = true
	return a
}
