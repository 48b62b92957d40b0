package check

import "gpurun/cudart/sim/exec"

// Blocks counts the blocks of grids: those of all that have begun, and those that have run to their end.
type Blocks struct{ Begun, Ended int }

func (b *Blocks) add(g *exec.Grid) {
	begun, ended := g.Blocks()
	b.Begun, b.Ended = b.Begun+begun, b.Ended+ended
}

// allBlocks counts the blocks of the grids that have ended, and of those that still run.
func (r *run) allBlocks() Blocks {
	all := r.blocks
	for _, t := range r.tasks {
		all.add(t.grid)
	}
	return all
}
