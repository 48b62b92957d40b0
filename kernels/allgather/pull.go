package allgather

import "gpurun/kernels/collective"

// Pull loads every peer's part: pull.cu.
func Pull() *collective.Algorithm {
	return collective.DirectCopy(name, "pull", "barriers, load all peers' parts", collective.WholePart)
}
