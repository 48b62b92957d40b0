package broadcast

import "gpurun/kernels/collective"

// Chain has every rank pass the root's data on to the next one, chunk by chunk, by bulk
// copies: chain.cu.
func Chain() *collective.Algorithm {
	const algorithm = "chain"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "from rank to rank, chunk by chunk, by bulk copies; largest sizes",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Atomics: true},
		Blocks:     64,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.WholePart)
	return a
}
