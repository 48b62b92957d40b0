package allreduce

import "gpurun/kernels/collective"

// TwoShotPush stores inputs to the ranks that reduce them, and results to all ranks: twoshot_push.cu.
func TwoShotPush() *collective.Algorithm {
	const algorithm = "twoshot_push"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "two-shot by stores alone, through scratch; large sizes",
		Kernels:    collective.Reductions(name, algorithm, algorithm, collective.SM80, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     128,
		ScratchBytes: func(world int, bytes int64) int64 {
			return collective.OneShotBytes + int64(world-1)*slotBytes(world, bytes)
		},
	}
	a.Enqueue = collective.OneLaunch(a, collective.ShareOfPart)
	return a
}

// slotBytes is the size of a slot for the largest part of so many bytes, in whole vectors.
func slotBytes(world int, bytes int64) int64 {
	const vecBytes = 16
	vecs := (bytes + vecBytes - 1) / vecBytes
	return (vecs + int64(world) - 1) / int64(world) * vecBytes
}
