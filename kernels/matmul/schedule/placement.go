package schedule

import (
	"slices"
	"sync"
)

// Placement is the tile of its first wave that each cluster of a kernel takes: a permutation.
//
// Multiprocessors of one GPC that read the same data at the same time are served by one read of L2 (Nsight Compute
// counts these as coalescing of type hardware in the L2 request coalescer). In a group of rowsInGroup rows of tiles,
// tiles whose numbers differ by rowsInGroup have the same rows of A; so do the tiles of later waves, where a wave lies
// within such groups. These tiles go to clusters of one GPC. If a cluster runs elsewhere, the result is the same, only
// slower.
type Placement []uint8

// InOrder is the placement of tile i with cluster i, for as many clusters as there can be: always the same, which
// callers do not change.
var InOrder = sync.OnceValue(func() Placement {
	p := make(Placement, MostClusters)
	for i := range p {
		p[i] = uint8(i)
	}
	return p
})

// ByGPC places clusters by lists of those on each GPC. Clusters of one GPC get numbers of one row of tiles, the larger
// GPCs first; clusters that do not fit into a row get the numbers that are left.
func ByGPC(gpcs [][]int, clusters int) Placement {
	p, taken := make(Placement, clusters), make([]bool, clusters)
	slices.SortStableFunc(gpcs, func(a, b []int) int { return len(b) - len(a) })
	var others []int
	for i, gpc := range gpcs {
		for j, cluster := range gpc {
			tile := i + j*rowsInGroup
			if i >= rowsInGroup || tile >= clusters {
				others = append(others, cluster)
				continue
			}
			p[cluster], taken[tile] = uint8(tile), true
		}
	}
	for _, cluster := range others {
		tile := slices.Index(taken, false)
		p[cluster], taken[tile] = uint8(tile), true
	}
	return p
}

// IsPlaced reports whether a kernel with so many clusters places them by GPC. Placement needs all multiprocessors free,
// so the kernel cannot begin before the previous one has ended. It is worth that only with some full waves.
func (l LastWave) IsPlaced(clusters int64) bool {
	const waves = 2
	return l.Full >= waves*clusters
}

// GroupByGPC lists the clusters on each GPC. Clusters and larger give the multiprocessors of the blocks of each
// cluster; all blocks of a cluster are on one GPC. Larger clusters tell which of the smaller ones share a GPC.
func GroupByGPC(clusters, larger [][]uint32) (gpcs [][]int) {
	parent := map[uint32]uint32{} // of a multiprocessor: another one of its GPC, towards the one that stands for all
	root := func(sm uint32) uint32 {
		for {
			next, ok := parent[sm]
			if !ok {
				return sm
			}
			sm = next
		}
	}
	for _, together := range slices.Concat(clusters, larger) {
		for _, sm := range together[1:] {
			if a, b := root(together[0]), root(sm); a != b {
				parent[b] = a
			}
		}
	}
	numbers := map[uint32]int{}
	for cluster, blocks := range clusters {
		n, ok := numbers[root(blocks[0])]
		if !ok {
			n = len(gpcs)
			numbers[root(blocks[0])], gpcs = n, append(gpcs, nil)
		}
		gpcs[n] = append(gpcs[n], cluster)
	}
	return gpcs
}
