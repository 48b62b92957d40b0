package kernelfile

import (
	"fmt"

	"gpurun/cudart"
)

// Bounds is what a kernel demands of its launch; zeros demand nothing.
type Bounds struct {
	Block      [3]int `json:"block"`       // threads of a block in x, y and z, by .reqntid
	MaxThreads int    `json:"max_threads"` // threads of a block at most, by .maxntid
	Cluster    [3]int `json:"cluster"`     // blocks of a cluster, by .reqnctapercluster
}

// block is the block that the kernel demands, or nothing.
func (d Bounds) block() []int {
	switch {
	case d.Block[0] == 0:
		return nil
	case d.Block[1] <= 1 && d.Block[2] <= 1:
		return d.Block[:1]
	}
	return []int{d.Block[0], max(d.Block[1], 1), max(d.Block[2], 1)}
}

// checkBounds compares the shape of a launch with what the kernel demands.
func (b *binder) checkBounds(l *Launch, d Bounds) error {
	block, cluster := b.out.Launch.Block(), b.out.Launch.ClusterBlocks()
	refuse := func(line int, format string, args ...any) error {
		return b.file.errorAt(line, "kernel %s %s", b.out.Entry, fmt.Sprintf(format, args...))
	}
	switch {
	case d.Block[0] > 0 && !same(block, d.Block):
		return refuse(lineOf(l.Block, l), "takes blocks of %v threads by .reqntid, not %v", dims(d.Block), full(block))
	case d.MaxThreads > 0 && b.block > int64(d.MaxThreads):
		return refuse(lineOf(l.Block, l), "takes blocks of up to %d threads by .maxntid, not %d", d.MaxThreads, b.block)
	case d.Cluster[0] > 0 && cluster != (cudart.Dim3{}) && !same(cluster, d.Cluster):
		return refuse(lineOf(l.Cluster, l), "takes clusters of %v blocks by .reqnctapercluster, not %v", dims(d.Cluster),
			full(cluster))
	}
	return nil
}

// lineOf is the line of a shape, or of the launch where the file does not give the shape.
func lineOf(shape []Expr, l *Launch) int {
	if len(shape) > 0 {
		return shape[0].Line
	}
	return l.line()
}

func dims(d [3]int) cudart.Dim3 { return full(cudart.Dim3{X: d[0], Y: d[1], Z: d[2]}) }

// full has 1 for extents that are not given.
func full(d cudart.Dim3) cudart.Dim3 { return cudart.Dim3{X: d.X, Y: max(d.Y, 1), Z: max(d.Z, 1)} }

func same(d cudart.Dim3, demanded [3]int) bool { return full(d) == dims(demanded) }
