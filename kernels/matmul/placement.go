package matmul

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// mostClusters is how many clusters a kernel of wgmma.cu may have; no GPU of compute capability 9.0 has multiprocessors for
// more.
const mostClusters = 72

// Placement is the tile of its first round that each cluster of a kernel takes: a permutation of as many numbers as there are
// clusters.
//
// Multiprocessors of a GPC that read the same at the same time are served by one read of L2 (Nsight Compute counts it as
// coalescing of type hardware in the L2 request coalescer). Tiles whose numbers differ by rowsInGroup have the same rows of A, and
// so do those of the rounds behind; so such tiles go to clusters of a GPC. What runs where CUDA does not tell: Runner.place finds
// out. Should a cluster once be elsewhere, the result is the same, and takes longer.
type Placement []uint8

// rowsInGroup is how many rows of tiles are taken before the next column, kGroup in tiles.cuh.
const rowsInGroup = 8

// unplaced has clusters take tiles in their own order.
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

// gpcsOf are the GPCs, as the clusters of a kernel that are on each, as far as larger clusters tell: those all of whose blocks
// are on one, by their multiprocessors. onSM is where the first block of each cluster of the kernel is.
func gpcsOf(onSM []uint32, larger [][]uint32) (gpcs [][]int) {
	of := map[uint32]uint32{} // a multiprocessor that is on the same GPC, towards one that stands for all
	stands := func(sm uint32) uint32 {
		for {
			next, ok := of[sm]
			if !ok {
				return sm
			}
			sm = next
		}
	}
	for _, together := range larger {
		for _, sm := range together[1:] {
			if a, b := stands(together[0]), stands(sm); a != b {
				of[b] = a
			}
		}
	}
	numbers := map[uint32]int{}
	for cluster, sm := range onSM {
		n, ok := numbers[stands(sm)]
		if !ok {
			n = len(gpcs)
			numbers[stands(sm)], gpcs = n, append(gpcs, nil)
		}
		gpcs[n] = append(gpcs[n], cluster)
	}
	return gpcs
}

// isPlaced reports whether clusters take tiles by where they run: where there are rounds for it to pay, because a kernel that is to
// find every multiprocessor free cannot begin before the one in front of it has ended.
func (l lastRound) isPlaced(sms int) bool {
	const rounds = 2
	return l.whole >= rounds*clustersOn(sms)
}

// placement is that for tiles whose last round is so.
func (r *Runner) placement(l lastRound) (Placement, error) {
	if !l.isPlaced(r.SMs) {
		return unplaced, nil
	}
	return r.place()
}

// placesKernel notes where blocks run.
func placesKernel() collective.Kernel {
	m := collective.Module{Name: "matmul_places_sm_90", Source: "matmul/places.cu", Arch: collective.SM90}
	return collective.Kernel{Module: m, Entry: "matmul_places", Any: true, Op: collective.None}
}

// place finds out where clusters run that have nothing beside them, when it is first asked for: that is what a grid is
// placed by whose launch waits for the one before it. It runs a kernel four times, for some 20 us.
func (r *Runner) place() (Placement, error) {
	clusters := int(clustersOn(r.SMs))
	if len(r.Placement) == clusters {
		return r.Placement, nil
	}
	kernel, err := r.Load(placesKernel())
	if err != nil {
		return nil, err
	}
	to, err := r.Device.Malloc(4 * wgmmaCluster * clustersOn(r.SMs))
	if err != nil {
		return nil, fmt.Errorf("allocating room for where blocks run: %w", err)
	}
	var larger [][]uint32
	for _, size := range []int{4, 6, cudart.MaxCluster} { // of several sizes, because each GPC has whole clusters only
		places, err := r.places(kernel, to, size)
		if err != nil {
			return nil, errors.Join(err, r.Device.Free(to))
		}
		larger = slices.AppendSeq(larger, slices.Chunk(places, size))
	}
	places, err := r.places(kernel, to, wgmmaCluster)
	if err := errors.Join(err, r.Device.Free(to)); err != nil {
		return nil, err
	}
	var onSM []uint32
	for pair := range slices.Chunk(places, wgmmaCluster) {
		onSM = append(onSM, pair[0])
	}
	r.Placement = placed(gpcsOf(onSM, larger), clusters)
	return r.Placement, nil
}

// places runs a kernel in clusters of a size, of as many blocks as there are multiprocessors, and returns where each was.
func (r *Runner) places(kernel cudart.Kernel, to cudart.DevicePtr, size int) ([]uint32, error) {
	places := make([]uint32, wgmmaCluster*int(clustersOn(r.SMs))/size*size)
	if len(places) == 0 {
		return nil, nil
	}
	shape := cudart.Launch{Blocks: len(places), Threads: 32, SharedBytes: wgmmaMostShared, Cluster: size}
	address := uint64(to)
	bytes := func(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }
	if err := r.Main.Launch(kernel, shape, bytes(unsafe.Pointer(&address), 8)); err != nil {
		return nil, fmt.Errorf("finding out where clusters of %d blocks run: %w", size, err)
	}
	if err := r.Main.Download(bytes(unsafe.Pointer(&places[0]), 4*len(places)), to); err != nil {
		return nil, fmt.Errorf("finding out where clusters of %d blocks run: %w", size, err)
	}
	return places, nil
}
