package allgather

import "gpurun/kernels/collective"

// Bulk stores the own part to all by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	const algorithm = "bulk"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, store the own part to all by bulk copies; largest sizes",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     32,
	}
	a.Enqueue = collective.BulkLaunch(a, collective.WholePart)
	return a
}
