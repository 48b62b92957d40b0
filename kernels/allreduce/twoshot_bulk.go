package allreduce

import "gpurun/kernels/collective"

// TwoShotBulk reduces the own part of all inputs and pushes it to all, by bulk
// copies: twoshot_bulk.cu.
func TwoShotBulk() *collective.Algorithm {
	const algorithm = "twoshot_bulk"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank reduces its part and pushes it, by bulk copies; largest sizes",
		Kernels:    collective.FloatReductions(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     32,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.ShareOfPart, collective.BulkTileOfRanks)
	return a
}
