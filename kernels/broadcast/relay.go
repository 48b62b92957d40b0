package broadcast

import "gpurun/kernels/collective"

// Relay has the root send each chunk to one rank, which sends it to all others, by bulk
// copies: relay.cu.
func Relay() *collective.Algorithm {
	const algorithm = "relay"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each chunk from the root to one rank, and from there to all others, by bulk copies; largest sizes",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Atomics: true},
		Blocks:     64,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.WholePart)
	return a
}
