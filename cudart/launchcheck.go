package cudart

import (
	"errors"
	"fmt"
	"math"
)

// Limits of a launch on every GPU (CUDA programming guide, "Compute Capabilities").
const (
	// MaxThreads is how many threads a block may have.
	MaxThreads = 1024
	// MaxCluster is how many blocks a cluster may have on every GPU that has clusters
	// (CUDA programming guide, "Thread Block Clusters").
	MaxCluster = 8
)

var (
	maxGrid  = Dim3{math.MaxInt32, 65535, 65535}
	maxBlock = Dim3{MaxThreads, MaxThreads, 64}
)

// Check says what is wrong with a launch on a device, whatever the kernel.
func (l *Launch) Check(on Info) error {
	cluster := l.ClusterBlocks()
	if cluster.Count() > 1 && on.Major < 9 {
		return fmt.Errorf("clusters need compute capability 9.0, and %s has %d.%d; launch without them: %w", on.Name,
			on.Major, on.Minor, ErrNotSupported)
	}
	if err := l.CheckShape(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrInvalidValue)
	}
	return nil
}

// CheckShape says which sizes of a launch no device can have.
func (l *Launch) CheckShape() error {
	for _, twice := range []struct {
		flat, name string
		size       int
		dim        Dim3
	}{
		{"Blocks", "GridDim", l.Blocks, l.GridDim},
		{"Threads", "BlockDim", l.Threads, l.BlockDim},
		{"Cluster", "ClusterDim", l.Cluster, l.ClusterDim},
	} {
		if twice.size != 0 && twice.dim != (Dim3{}) {
			return fmt.Errorf("the launch gives %s and %s; give one of them", twice.flat, twice.name)
		}
	}
	if l.SharedBytes < 0 {
		return fmt.Errorf("a block cannot have %d bytes of dynamic shared memory", l.SharedBytes)
	}
	grid, block, cluster := l.Grid(), l.Block(), l.ClusterBlocks()
	err := errors.Join(grid.within("a grid", "blocks", maxGrid, 0),
		block.within("a block", "threads", maxBlock, MaxThreads))
	if err != nil || cluster == (Dim3{}) {
		return err
	}
	return cluster.checkCluster(grid)
}

// checkCluster says why a grid does not consist of clusters of this size.
func (d Dim3) checkCluster(grid Dim3) error {
	switch {
	case min(d.X, d.Y, d.Z) < 1 || max(d.X, d.Y, d.Z) > MaxCluster || d.Count() > MaxCluster:
		return fmt.Errorf("a cluster cannot have %v blocks; 1 to %d are possible", d, MaxCluster)
	case grid.X%d.X != 0 || grid.Y%d.Y != 0 || grid.Z%d.Z != 0:
		return fmt.Errorf("%v blocks do not make whole clusters of %v", grid, d)
	}
	return nil
}

// within says how d exceeds a limit in each dimension, or in all where that is not 0.
func (d Dim3) within(what, unit string, most Dim3, all int64) error {
	if d.X >= 1 && d.Y >= 1 && d.Z >= 1 && d.X <= most.X && d.Y <= most.Y && d.Z <= most.Z &&
		(all == 0 || d.Count() <= all) {
		return nil
	}
	total := ""
	if all != 0 {
		total = fmt.Sprintf(", %d in all", all)
	}
	return fmt.Errorf("%s cannot have %v %s; 1 to %d in x, %d in y and %d in z are possible%s", what, d, unit, most.X,
		most.Y, most.Z, total)
}
