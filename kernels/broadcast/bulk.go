package broadcast

import "gpurun/kernels/collective"

// Bulk has every rank but the root fetch a share and push it to the
// others by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	const algorithm = "bulk"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank fetches a share from the root and pushes it, by bulk copies; largest sizes",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     32,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.ShareBesideRoot)
	return a
}
