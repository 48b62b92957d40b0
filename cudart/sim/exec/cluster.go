package exec

import (
	"fmt"

	"gpurun/cudart"
)

// rankShift is where a shared address has the rank of its block in the cluster;
// the offset in the block's shared memory is below. A block's own addresses have
// its rank too, so that they mean the same to all blocks of the cluster.
const (
	rankShift = 24
	rankMask  = (1<<RegionShift - 1) &^ (1<<rankShift - 1)
)

// cluster is blocks that run at the same time and reach each other's shared
// memory. Without clusters every block is one.
type cluster struct {
	number int         // within the grid
	at     cudart.Dim3 // likewise
	blocks []*block

	// The barrier of all threads: those that have not exited, those that have
	// arrived in this phase, and the phase's parity in every bit.
	live, arrived int
	phase         uint32
}

func newCluster(g *Grid, number int) *cluster {
	c := &cluster{number: number, at: g.clustersDim.At(number), live: g.clusterBlocks * g.threads}
	for rank := range g.clusterBlocks {
		c.blocks = append(c.blocks, newBlock(g, c, rank))
	}
	return c
}

// rankOf is the rank that a shared address names.
func rankOf(addr uint64) int { return int(addr & rankMask >> rankShift) }

// withRank is the same place in the shared memory of another block.
func withRank(addr uint64, rank int) uint64 { return addr&^rankMask | uint64(rank)<<rankShift }

// owns reports whether a generic address is in the shared window, at the rank of
// the warp's own block.
func (w *warp) owns(addr uint64) bool {
	return addr>>RegionShift == sharedWindow>>RegionShift && rankOf(addr) == w.block.rank
}

// sharedOf returns the shared memory that an address in the shared window names. That of a block
// that has not begun to run or has exited cannot be accessed.
func (w *warp) sharedOf(addr uint64) (*span, bool) {
	rank := rankOf(addr)
	if rank == w.block.rank {
		return &w.block.shared, true
	}
	if rank >= len(w.block.cluster.blocks) {
		return nil, false
	}
	b := w.block.cluster.blocks[rank]
	return &b.shared, b.started && b.running > 0
}

// describeShared says why sharedOf found nothing, or "".
func (w *warp) describeShared(addr uint64) string {
	blocks := w.block.cluster.blocks
	switch rank := rankOf(addr); {
	case addr>>RegionShift != sharedWindow>>RegionShift:
		return ""
	case rank >= len(blocks):
		return fmt.Sprintf(", which names block %d of a cluster of %d", rank, len(blocks))
	case !blocks[rank].started:
		return fmt.Sprintf(": block %d of the cluster may not have begun to run, which a barrier.cluster would tell", rank)
	default:
		return fmt.Sprintf(": block %d of the cluster has exited, which a barrier.cluster before its end would prevent", rank)
	}
}

// notOwnShared is the fault of a .shared access outside of the block's own shared memory.
func (w *warp) notOwnShared(addr uint64, lane int) error {
	if addr>>RegionShift != sharedWindow>>RegionShift || rankOf(addr) >= len(w.block.cluster.blocks) {
		return w.accessFault(IllegalAddress, lane, addr, 1, 1, "%#x is no address in shared memory", addr)
	}
	return w.accessFault(IllegalAddress, lane, addr, 1, 1,
		"%#x is in the shared memory of block %d of the cluster, which takes .shared::cluster", addr&(1<<RegionShift-1),
		rankOf(addr))
}
