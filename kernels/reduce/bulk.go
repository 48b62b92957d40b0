package reduce

import "gpurun/kernels/collective"

// Bulk has every rank but the root reduce a share and push it to the
// root by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	const algorithm = "bulk"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank reduces a share and pushes it to the root, by bulk copies; largest sizes",
		Kernels:    collective.FloatReductions(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     32,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.ShareBesideRoot, collective.BulkTileOfRanks)
	return a
}
