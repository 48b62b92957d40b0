package check

import (
	"encoding/binary"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// doer is a warp of a launch, for analyses that tell launches apart.
type doer struct {
	Actor
	grid  *watchedGrid
	polls pollLog
}

// watchedGrid is a launch that has begun.
type watchedGrid struct {
	rank   int
	launch int    // of the run, from 1 on
	kernel string // its entry point
	// call counts the launches of the kernel by the rank, from 1 on. Ranks that make the same calls count alike.
	call  int
	shape cudart.Dim3
	grid  *exec.Grid // nil once it has ended
	doers map[[2]int]*doer
	last  *doer // that was looked up last, or nil
}

// watchGrid notes a launch that begins.
func (r *run) watchGrid(rank, launch int, kernel string, shape cudart.Dim3, grid *exec.Grid) *watchedGrid {
	g := &watchedGrid{rank: rank, launch: launch, kernel: kernel, shape: shape, grid: grid, doers: map[[2]int]*doer{}}
	g.call = 1
	for _, other := range r.grids {
		if other.rank == rank && other.kernel == kernel {
			g.call++
		}
	}
	r.grids = append(r.grids, g)
	return g
}

// doer is the one of a warp.
func (g *watchedGrid) doer(block, warp int) *doer {
	if d := g.last; d != nil && d.Block == block && d.Warp == warp {
		return d
	}
	at := [2]int{block, warp}
	d := g.doers[at]
	if d == nil {
		d = &doer{Actor: Actor{Rank: g.rank, Kernel: g.kernel, Block: block, Warp: warp}, grid: g}
		g.doers[at] = d
	}
	g.last = d
	return d
}

// sameBlock reports whether two warps have the same number of rank and block, in whatever launch.
func (d *doer) sameBlock(other *doer) bool { return d.Rank == other.Rank && d.Block == other.Block }

// workspaceStride is the distance of the addresses that tell the workspaces of cooperative grids apart.
const workspaceStride = 1 << 12

// unique is an address that one launch has: the workspaces of all cooperative grids are at the same address.
func (g *watchedGrid) unique(addr uint64) uint64 {
	if exec.IsWorkspace(addr) {
		return addr + uint64(g.launch)*workspaceStride
	}
	return addr
}

// holds is what memory holds at an address, as a block sees it: nil where the address is not mapped.
func (r *run) holds(g *watchedGrid, block int, addr, bytes uint64) []byte {
	data, at := []byte(nil), addr&(1<<exec.RegionShift-1)
	switch region := r.memory.find(addr); {
	case region != nil:
		data = region.data
	case exec.IsShared(addr) && g.grid != nil:
		data = g.grid.Shared(block)
	case exec.IsWorkspace(addr) && g.grid != nil:
		data, at = g.grid.Workspace(), at%workspaceStride
	}
	if at > uint64(len(data)) || bytes > uint64(len(data))-at {
		return nil
	}
	return data[at : at+bytes]
}

// wordOf is the value of up to 8 bytes.
func wordOf(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// access notes an access of a warp for the analyses of polls and signals.
func (g *watchedGrid) access(r *run, at exec.Place, a *exec.ObservedAccess) {
	d := g.doer(at.Block, at.Warp)
	d.polls.note(r, d, at, a)
	r.signals.access(r, d, at, a)
}
