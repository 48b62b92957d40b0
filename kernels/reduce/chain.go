package reduce

import "gpurun/kernels/collective"

// Chain adds the inputs from rank to rank, and rounds at each: chain.cu.
func Chain() *collective.Algorithm {
	const algorithm = "chain"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary: "each rank adds its input to what the rank before pushes, rounds, and pushes it on, in words " +
			"that are their own flags; floats, large sizes",
		Kernels:  collective.WorldlessReductions(name, algorithm, algorithm),
		MaxRanks: collective.MaxRanks,
		Stepwise: true,
		Blocks:   128,
	}
	collective.Chained(a, 0)
	return a
}
