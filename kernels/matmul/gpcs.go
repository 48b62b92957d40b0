package matmul

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul/schedule"
)

// gpcsKernel stores the number of the multiprocessor of each block.
func gpcsKernel() collective.Kernel {
	m := collective.Module{Name: "matmul_gpcs_sm_90", Source: "matmul/cuda/gpcs.cu", Arch: collective.SM90}
	return collective.Kernel{Module: m, Entry: "matmul_gpcs", Any: true, Op: collective.None}
}

// GPCs lists, for each GPC, the numbers of the clusters of a kernel that run on it if no other kernel runs on the
// device. CUDA has no function for this. But all blocks of a cluster are on one GPC, and a block can read the number of
// its multiprocessor. GPCs waits for the main stream, and then runs a kernel in clusters of several sizes, 20 us each.
// Compute capability 9.0.
func (r *Runner) GPCs() (gpcs [][]int, err error) {
	kernel, err := r.Load(gpcsKernel())
	if err != nil {
		return nil, err
	}
	to, err := r.Device.Malloc(4 * wgmmaCluster * clustersOn(r.SMs))
	if err != nil {
		return nil, fmt.Errorf("allocating memory for the multiprocessors of blocks: %w", err)
	}
	defer func() { err = errors.Join(err, r.Device.Free(to)) }()
	var larger [][]uint32
	for _, size := range []int{4, 6, cudart.MaxCluster} { // several, because a GPC holds whole clusters only
		blocks, err := r.multiprocessorsOf(kernel, to, size)
		if errors.Is(err, cudart.ErrInvalidCluster) {
			break // a GPC is smaller than such a cluster
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
	return schedule.GroupByGPC(slices.Collect(slices.Chunk(blocks, wgmmaCluster)), larger), nil
}

// multiprocessorsOf runs a kernel in clusters of a size, with a block for each multiprocessor, and returns on which
// one each block ran.
func (r *Runner) multiprocessorsOf(kernel cudart.Kernel, to cudart.DevicePtr, size int) ([]uint32, error) {
	blocks := make([]uint32, wgmmaCluster*int(clustersOn(r.SMs))/size*size)
	if len(blocks) == 0 {
		return nil, nil
	}
	shape := cudart.Launch{Blocks: len(blocks), Threads: 32, SharedBytes: wgmmaMostShared, Cluster: size}
	address := uint64(to)
	bytes := func(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }
	if err := r.Main.Launch(kernel, shape, bytes(unsafe.Pointer(&address), 8)); err != nil {
		return nil, fmt.Errorf("finding the multiprocessors of clusters of %d blocks: %w", size, err)
	}
	if err := r.Main.Download(bytes(unsafe.Pointer(&blocks[0]), 4*len(blocks)), to); err != nil {
		return nil, fmt.Errorf("finding the multiprocessors of clusters of %d blocks: %w", size, err)
	}
	return blocks, nil
}

// placement is the placement of the clusters of a kernel with a last wave. The first placement by GPC calls GPCs.
func (r *Runner) placement(l schedule.LastWave) (schedule.Placement, error) {
	clusters := clustersOn(r.SMs)
	if !l.IsPlaced(clusters) {
		return schedule.InOrder(), nil
	}
	if len(r.Placement) != int(clusters) {
		gpcs, err := r.GPCs()
		if err != nil {
			return nil, err
		}
		r.Placement = schedule.ByGPC(gpcs, int(clusters))
	}
	return r.Placement, nil
}
