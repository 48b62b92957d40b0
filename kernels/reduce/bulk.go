package reduce

import "gpurun/kernels/collective"

// TwoShotBulk sends each chunk of the inputs to one rank, which reduces it and stores the result to the root:
// twoshot_bulk.cu.
func TwoShotBulk() *collective.Algorithm {
	const algorithm, threads = "twoshot_bulk", 320 // 2 warps send, and 8 reduce
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary: "bulk copies push chunks of floats to the ranks that reduce them, which push the results to the root; " +
			"3 ranks and more, the largest sizes",
		Kernels:  collective.FloatReductions(name, algorithm, algorithm),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Peers: true, Atomics: true},
		Blocks:   128,
		Threads:  threads,
		ScratchBytes: func(world int, bytes int64) int64 {
			owners := int64(max(world-1, 1))
			return collective.OneShotBytes + int64(world-1)*(bytes/owners+2*collective.BulkStageBytes)
		},
	}
	a.Enqueue = collective.BulkLaunch(a, collective.WholePart)
	return a
}
