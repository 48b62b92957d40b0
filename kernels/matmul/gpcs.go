package matmul

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// gpcsKernel notes which multiprocessors blocks run on.
func gpcsKernel() collective.Kernel {
	m := collective.Module{Name: "matmul_gpcs_sm_90", Source: "matmul/cuda/gpcs.cu", Arch: collective.SM90}
	return collective.Kernel{Module: m, Entry: "matmul_gpcs", Any: true, Op: collective.None}
}

// GPCs finds out which clusters of a kernel that has the device to itself run on the same GPC: lists of the numbers of clusters,
// each of which is in one. CUDA does not tell, but all blocks of a cluster are on one GPC, and a kernel can tell on which
// multiprocessors. It waits for what is on the main stream, and then runs such a kernel in clusters of several sizes, 20 us each.
// Compute capability 9.0.
func (r *Runner) GPCs() (gpcs [][]int, err error) {
	kernel, err := r.Load(gpcsKernel())
	if err != nil {
		return nil, err
	}
	to, err := r.Device.Malloc(4 * wgmmaCluster * clustersOn(r.SMs))
	if err != nil {
		return nil, fmt.Errorf("allocating room for where blocks run: %w", err)
	}
	defer func() { err = errors.Join(err, r.Device.Free(to)) }()
	var larger [][]uint32
	for _, size := range []int{4, 6, cudart.MaxCluster} { // several, because a GPC has whole clusters only
		blocks, err := r.multiprocessorsOf(kernel, to, size)
		if errors.Is(err, cudart.ErrInvalidCluster) {
			break // GPCs have room for no more
		}
		if err != nil {
			return nil, err
		}
		larger = slices.AppendSeq(larger, slices.Chunk(blocks, size))
	}
	blocks, err := r.multiprocessorsOf(kernel, to, wgmmaCluster)
	if err != nil {
		return nil, err
	}
	return gpcsOf(slices.Collect(slices.Chunk(blocks, wgmmaCluster)), larger), nil
}

// multiprocessorsOf runs a kernel in clusters of a size, of as many blocks as there are multiprocessors, and returns where each was.
func (r *Runner) multiprocessorsOf(kernel cudart.Kernel, to cudart.DevicePtr, size int) ([]uint32, error) {
	blocks := make([]uint32, wgmmaCluster*int(clustersOn(r.SMs))/size*size)
	if len(blocks) == 0 {
		return nil, nil
	}
	shape := cudart.Launch{Blocks: len(blocks), Threads: 32, SharedBytes: wgmmaMostShared, Cluster: size}
	address := uint64(to)
	bytes := func(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }
	if err := r.Main.Launch(kernel, shape, bytes(unsafe.Pointer(&address), 8)); err != nil {
		return nil, fmt.Errorf("finding out where clusters of %d blocks run: %w", size, err)
	}
	if err := r.Main.Download(bytes(unsafe.Pointer(&blocks[0]), 4*len(blocks)), to); err != nil {
		return nil, fmt.Errorf("finding out where clusters of %d blocks run: %w", size, err)
	}
	return blocks, nil
}

// gpcsOf are the clusters on each GPC, as far as larger ones tell, by the multiprocessors of their blocks.
func gpcsOf(clusters, larger [][]uint32) (gpcs [][]int) {
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
	for _, together := range slices.Concat(clusters, larger) {
		for _, sm := range together[1:] {
			if a, b := stands(together[0]), stands(sm); a != b {
				of[b] = a
			}
		}
	}
	numbers := map[uint32]int{}
	for cluster, blocks := range clusters {
		n, ok := numbers[stands(blocks[0])]
		if !ok {
			n = len(gpcs)
			numbers[stands(blocks[0])], gpcs = n, append(gpcs, nil)
		}
		gpcs[n] = append(gpcs[n], cluster)
	}
	return gpcs
}
