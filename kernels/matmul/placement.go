package matmul

import "slices"

// mostClusters is how many clusters a kernel of wgmma.cu may have; no GPU of compute capability 9.0 has multiprocessors for
// more.
const mostClusters = 72

// Placement is the tile of its first round that each cluster of a kernel takes: a permutation.
//
// Multiprocessors of a GPC that read the same at the same time are served by one read of L2 (Nsight Compute counts it as
// coalescing of type hardware in the L2 request coalescer). In a group of as many rows of tiles, tiles whose numbers differ by
// rowsInGroup have the same rows of A, and where a round is within such groups so have those behind them; so they go to clusters
// of a GPC. Should a cluster once be elsewhere, the result is the same, and takes longer.
type Placement []uint8

// rowsInGroup is how many rows of tiles are taken before the next column, kGroup in tiles.cuh.
const rowsInGroup = 8

// unplaced has clusters, as many as there are, take tiles in their own order.
var unplaced = func() (p Placement) {
	for i := range mostClusters {
		p = append(p, uint8(i))
	}
	return p
}()

// placed is the placement of clusters by their GPCs. Clusters of the larger ones take the numbers of a row of tiles each,
// others what is left.
func placed(gpcs [][]int, clusters int) Placement {
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

// isPlaced reports whether clusters take tiles by where they run: where there are rounds for it to pay, because a kernel that is to
// find every multiprocessor free cannot begin before the one in front of it has ended.
func (l lastRound) isPlaced(sms int) bool {
	const rounds = 2
	return l.whole >= rounds*clustersOn(sms)
}

// placement is that for tiles whose last round is so. The first that is by GPCs finds those out.
func (r *Runner) placement(l lastRound) (Placement, error) {
	if !l.isPlaced(r.SMs) {
		return unplaced, nil
	}
	clusters := int(clustersOn(r.SMs))
	if len(r.Placement) != clusters {
		gpcs, err := r.GPCs()
		if err != nil {
			return nil, err
		}
		r.Placement = placed(gpcs, clusters)
	}
	return r.Placement, nil
}
