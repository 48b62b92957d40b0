package mutate

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// Adjacent reports whether the barrier of a warp or a block at a line orders nothing that another one does not: on each
// way from it there is a barrier that orders as much, or the end, before any access to memory or fence; or on each way
// to it.
func Adjacent(module string, text []byte, entry string, line int) (bool, error) {
	c, err := read(module, text, entry)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(c.body, func(in ptx.Inst) bool { return in.Line == line && synchronizes(&in) > 0 })
	if at < 0 {
		return false, nil
	}
	before := func(i int) []int { return c.before[i] }
	return c.quiet(at, c.successors) || c.quiet(at, before), nil
}

// synchronizes says what a barrier does: 2 for all threads of the block, 1 for all lanes of the warp, otherwise 0.
func synchronizes(in *ptx.Inst) int {
	switch {
	case in.Guard.Reg >= 0:
		return 0
	case isBarrier(in):
		return 2
	case in.Op == "bar" && has(in, "warp") && len(in.Args) == 1 && uint32(in.Args[0].Bits) == 1<<32-1:
		return 1
	}
	return 0
}

// quiet reports whether each way from a barrier gets to one that orders as much, or to the end of the kernel, before it
// gets to an access or a fence. Ways backwards that get to the begin of the kernel count as ways to its end.
func (c *code) quiet(from int, next func(int) []int) bool {
	seen := map[int]bool{from: true}
	for todo := slices.Clone(next(from)); len(todo) > 0; {
		i := todo[0]
		todo = todo[1:]
		if seen[i] || i >= len(c.body) {
			continue
		}
		seen[i] = true
		switch in := &c.body[i]; {
		case synchronizes(in) >= synchronizes(&c.body[from]):
		case orders(in):
			return false
		default:
			todo = append(todo, next(i)...)
		}
	}
	return true
}

// orders reports whether an instruction accesses memory that others access, or orders accesses.
func orders(in *ptx.Inst) bool {
	switch in.Op {
	case "ld", "st":
		return !has(in, "param", "local", "const")
	case "atom", "red", "multimem", "mbarrier", "fence", "membar", "wgmma", "mma", "ldmatrix", "stmatrix", "call",
		"barrier", "bar", "griddepcontrol":
		return true
	case "cp":
		return !has(in, "wait_group", "wait_all", "commit_group")
	}
	return false
}
