package cudart

// Launch is the shape of a kernel launch. Most kernels have grids and blocks of one dimension, which
// Blocks and Threads give. For others GridDim, BlockDim and ClusterDim take the place of Blocks, Threads
// and Cluster.
type Launch struct {
	Blocks      int // grid size
	Threads     int // block size
	SharedBytes int // dynamic shared memory per block
	// Cluster is how many blocks form a cluster, whose shared memory they all
	// reach: 1 to MaxCluster, with Blocks a multiple of it. 0 leaves it to the kernel, which may
	// require a size. More than 1 needs compute capability 9.0.
	Cluster int

	GridDim    Dim3 // in blocks
	BlockDim   Dim3 // in threads
	ClusterDim Dim3 // in blocks; divides GridDim in each dimension

	// Cooperative lets the blocks of the grid wait for one another, as grid.sync() of CUDA's cooperative
	// groups does: all of them are resident at once, or the launch is refused with
	// ErrCoopTooLarge.
	Cooperative bool
	// PDL asks for programmatic dependent launch: the kernel may start while
	// the kernel before it in the stream still runs, and must execute
	// griddepcontrol.wait before it touches memory. Compute capability 9.0.
	PDL bool
	// ShortRunning is a hint: the kernel ends before the host could launch the next one. Outside of a
	// capture, a stream that was prepared for the kernel then prefers the launch that takes the host
	// least time over PDL.
	ShortRunning bool
}

// Grid is the grid's size in blocks.
func (l *Launch) Grid() Dim3 { return either(l.GridDim, l.Blocks) }

// Block is the size of a block in threads.
func (l *Launch) Block() Dim3 { return either(l.BlockDim, l.Threads) }

// ClusterBlocks is the size of a cluster in blocks, or zero where the launch leaves it to the kernel.
func (l *Launch) ClusterBlocks() Dim3 {
	if l.Cluster == 0 && l.ClusterDim == (Dim3{}) {
		return Dim3{}
	}
	return either(l.ClusterDim, l.Cluster)
}

// either is d, or x where d is not given.
func either(d Dim3, x int) Dim3 {
	if d == (Dim3{}) {
		d.X = x
	}
	return d.whole()
}
