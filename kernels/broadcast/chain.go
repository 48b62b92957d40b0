package broadcast

import "gpurun/kernels/collective"

// Chain passes the data on from rank to rank: chain.cu.
func Chain() *collective.Algorithm {
	const algorithm, group = "chain", 128 // kGroupVecs
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank pushes what arrives on to the next rank, in words that are their own flags; large sizes",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Blocks:     128,
		Threads:    256,
	}
	collective.Chained(a, group)
	return a
}
