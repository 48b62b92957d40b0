package exec

import (
	"cmp"
	"slices"
)

// Wait is lanes of a warp, and why they do not go on.
type Wait struct {
	Place // of the instruction at which they wait
	State WaitState
	Lanes uint32
	// Barrier is what lanes in state AtBarrier wait for. Arrived of the Wanted threads have come.
	Barrier, Arrived, Wanted int
}

// WaitState is what lanes of a warp wait for.
type WaitState uint8

// The states of lanes.
const (
	Goes            WaitState = iota // they wait for nothing
	Polling                          // a loop reads the same values again and again
	AtBarrier                        // of the block
	ForLanes                         // for other lanes of the warp, at a .sync instruction
	ForBlocks                        // for other blocks of the cluster at its barrier, or for the kernel before this one
	ForGroup                         // for other warps of the warpgroup, which have to issue the same wgmma
	ForTensorMemory                  // for tensor memory, which the block has to free, or the other block of the pair to allocate
)

// Waits describes all lanes of the blocks that are resident. The caller calls it between two turns.
func (g *Grid) Waits() []Wait {
	var all []Wait
	for _, b := range g.blocks {
		for _, w := range b.warps {
			for i := range w.paths[:w.others] {
				all = append(all, w.waits(&w.paths[i]))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Warp, b.Warp), cmp.Compare(a.Lanes, b.Lanes))
	})
	return all
}

// waits describes the lanes of a path.
func (w *warp) waits(s *path) Wait {
	at := Wait{Place: Place{Block: w.block.index, Warp: w.index, Site: Site{w.grid.kernel, s.pc}, warp: w}, Lanes: s.mask}
	switch {
	case s.state == atBarrier && s.barrier == clusterBarrierID:
		at.State = ForBlocks
	case s.state == atBarrier && s.barrier == tensorBarrierID:
		at.State = ForTensorMemory
	case s.state == atBarrier && s.barrier >= warpgroupBarrierID:
		at.State = ForGroup
	case s.state == atBarrier:
		bar := &w.block.barriers[s.barrier]
		at.State, at.Barrier, at.Arrived, at.Wanted = AtBarrier, int(s.barrier), bar.arrived, bar.want
		if at.Wanted == 0 {
			at.Wanted = w.block.live
		}
	case s.state == reconverging:
		at.State = ForLanes
	case w.grid.kernel.code[s.pc].waitsForBlocks():
		at.State = ForBlocks
	case (w.spun || w.watch.parked) && s.polls:
		at.State, at.Site.pc = Polling, s.poll
	}
	return at
}

// waitsForBlocks reports whether lanes that are at the op may wait for other blocks. They execute it again and again.
func (o *op) waitsForBlocks() bool {
	in := o.inst
	return in.Op == "griddepcontrol" || in.Op == "barrier" && slices.Contains(in.Mods, "cluster")
}

// Pending is how many blocks of the grid have not begun, and the number of the first.
func (g *Grid) Pending() (blocks, first int) {
	return (g.clusterCount - g.next) * g.clusterBlocks, g.next * g.clusterBlocks
}

// Resident is how many blocks of the grid run.
func (g *Grid) Resident() int { return len(g.blocks) }

// Shared is the shared memory of a resident block, by which an observer sees what it holds; nil for other blocks.
func (g *Grid) Shared(block int) []byte {
	for _, b := range g.blocks {
		if b.index == block {
			return b.shared.data
		}
	}
	return nil
}

// Workspace is the workspace of a cooperative grid, likewise; empty for other grids.
func (g *Grid) Workspace() []byte { return g.workspace.data }

// WritesAhead are the instructions with which lanes that go on from a place may signal others: strong stores and atomic
// operations, and where there is none, weak stores. A place with a call may reach all code of the kernel.
func (s Site) WritesAhead() []Site {
	var strong, weak []Site
	reached := s.reached()
	for pc := range s.kernel.code {
		if !reached[pc] {
			continue
		}
		switch o, at := &s.kernel.code[pc], (Site{s.kernel, int32(pc)}); {
		case o.mem == nil || o.inst.Op == "ld" || o.mem.bias>>RegionShift == localWindow>>RegionShift ||
			o.mem.bias>>RegionShift == paramWindow>>RegionShift:
		case o.mem.order.strong() || o.inst.Op == "atom" || o.inst.Op == "red":
			strong = append(strong, at)
		case o.inst.Op == "st":
			weak = append(weak, at)
		}
	}
	if len(strong) > 0 {
		return strong
	}
	return weak
}

// reached are the places of the code that may be executed behind a place.
func (s Site) reached() []bool {
	code := s.kernel.code
	reached := make([]bool, len(code))
	todo := []int{int(s.pc) + 1}
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if pc >= len(code) || reached[pc] {
			continue
		}
		reached[pc] = true
		o := &code[pc]
		always := o.inst.Guard.Reg < 0
		switch {
		case o.inst.Op == "call":
			for i := range reached {
				reached[i] = true
			}
			return reached
		case o.kind == opBranch:
			todo = append(todo, int(o.target))
		case o.table != nil:
			todo = append(todo, o.table...)
		}
		if !always || o.kind != opBranch && o.inst.Op != "ret" && o.inst.Op != "exit" && o.table == nil {
			todo = append(todo, pc+1)
		}
	}
	return reached
}
