package cudart

import "fmt"

// MaxCluster is how many blocks a cluster may have on every GPU that has clusters
// (CUDA programming guide, "Thread Block Clusters").
const MaxCluster = 8

// CheckCluster says what is wrong with the clusters of a launch on a device.
func (l *Launch) CheckCluster(on Info) error {
	switch n := l.Cluster; {
	case n < 0 || n > MaxCluster:
		return fmt.Errorf("a cluster cannot have %d blocks; 1 to %d are possible: %w", n, MaxCluster, ErrInvalidValue)
	case n <= 1:
		return nil
	case on.Major < 9:
		return fmt.Errorf("clusters need compute capability 9.0, and %s has %d.%d; launch without them: %w", on.Name,
			on.Major, on.Minor, ErrNotSupported)
	case l.Blocks%n != 0:
		return fmt.Errorf("%d blocks do not make whole clusters of %d: %w", l.Blocks, n, ErrInvalidValue)
	}
	return nil
}
