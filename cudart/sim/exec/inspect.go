package exec

import (
	"cmp"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Inspect describes where the threads of a grid are. The caller calls it between two turns.
func (g *Grid) Inspect() cudart.RunningKernel {
	r := cudart.RunningKernel{
		Name: g.kernel.Name, Blocks: g.blockCount, Pending: (g.clusterCount - g.next) * g.clusterBlocks,
	}
	for _, b := range g.blocks {
		for _, w := range b.warps {
			for i := range w.paths[:w.others] {
				r.Warps = append(r.Warps, w.inspect(&w.paths[i]))
			}
		}
	}
	slices.SortStableFunc(r.Warps, func(a, b cudart.RunningWarp) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Warp, b.Warp))
	})
	return r
}

// inspect describes where the lanes of a path are. A path that spins has branched back: what it polls is behind its
// program counter.
func (w *warp) inspect(s *path) cudart.RunningWarp {
	at, activity := s.pc, cudart.Runs
	switch {
	case s.state == atBarrier, s.state == reconverging, w.grid.kernel.code[s.pc].inst.Op == "griddepcontrol":
		activity = cudart.Waits
	case (w.spun || w.watch.parked) && s.polls:
		at, activity = s.poll, cudart.Polls
	}
	return cudart.RunningWarp{Block: w.block.index, Warp: w.index, Activity: activity, At: w.grid.kernel.instruction(at)}
}

// instruction describes the instruction of an op.
func (k *Kernel) instruction(pc int32) cudart.Instruction {
	in := k.code[pc].inst
	function, source := k.origin(pc, in)
	return cudart.Instruction{
		Opcode: opcode(in.Text), Module: k.module, Line: in.Line, Function: function, Source: source,
	}
}

// opcode is the opcode of an instruction's text, with its modifiers.
func opcode(text string) string {
	words := strings.Fields(text)
	if len(words) > 1 && strings.HasPrefix(words[0], "@") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}
