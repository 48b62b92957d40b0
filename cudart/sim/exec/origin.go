package exec

import (
	"fmt"
	"path/filepath"

	"gpurun/cudart/sim/ptx"
)

// InlinedAt is between a line of the source and the line of the call by which it was inlined.
const InlinedAt = ", inlined at "

// source is the line of the source that an instruction was made of, with the line of the call where it was
// inlined: "util.cuh:12, inlined at kernel.cu:40". It is "" where the PTX has no .loc.
func (p *Program) source(f *ptx.Function, in *ptx.Inst) string {
	text := ""
	for at, n := in.Loc, 0; at >= 0 && at < len(f.Locs) && n < 8; n++ {
		loc := f.Locs[at]
		file, ok := p.module.Files[loc.File]
		if !ok || loc.Line == 0 {
			break
		}
		if text != "" {
			text += InlinedAt
		}
		text += fmt.Sprintf("%s:%d", filepath.Base(file), loc.Line)
		if loc.Inlined == at {
			break
		}
		at = loc.Inlined
	}
	return text
}

// origin finds the function of an op, "" in the kernel itself, and the line of its source.
func (k *Kernel) origin(pc int32, in *ptx.Inst) (function, source string) {
	u := k.units[0]
	for _, next := range k.units[1:] {
		if next.entry <= pc {
			u, function = next, next.name
		}
	}
	return function, k.program.source(u.fn, in)
}
