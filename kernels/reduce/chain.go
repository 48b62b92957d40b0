package reduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// Chain adds the inputs from rank to rank, and rounds at each: chain.cu.
func Chain() *collective.Algorithm {
	const algorithm = "chain"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary: "each rank adds its input to what the rank before pushes, rounds, and pushes it on, in words " +
			"that are their own flags; floats, large sizes",
		Kernels:  collective.AnyWorldReductions(name, algorithm, algorithm),
		MaxRanks: collective.MaxRanks,
		Chain:    true,
		Blocks:   128,
	}
	// The sums of half may be too large for the type where their average is not.
	a.Kernels = slices.DeleteFunc(a.Kernels, func(k collective.Kernel) bool {
		return k.Op == collective.Avg && k.DType.Name == collective.Half.Name
	})
	collective.Chained(a, 0)
	return a
}
