package mutate

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// flagFirst moves the store of a flag in front of the data: of the store before it, or of the block's barrier by which
// the other threads' data come first.
func (c *code) flagFirst(flag int) {
	in := &c.body[flag]
	if has(in, "v2", "v4") || c.bytes(in) != 4 {
		return
	}
	way := []string{fmt.Sprintf("@%%mutant_p %s; ", in.Text)} // from the barrier to the flag, the last step first
	for i := flag; ; {
		before, next := c.before[i], i
		if len(before) != 1 {
			return
		}
		i = before[0]
		switch at := &c.body[i]; {
		case at.Op == "st" && !has(at, "volatile") && at.Guard.Reg < 0:
			c.plant(FlagFirst, edit{in, in.Text + "; " + at.Text + ";"}, nothing(at))
			return
		case isBarrier(at):
			way = append(way, "mov.pred %mutant_p,-1; ", "{ .reg .pred %mutant_p; ")
			slices.Reverse(way)
			c.plant(FlagFirst, edit{at, strings.Join(way, "") + "} " + at.Text + ";"}, nothing(in))
			return
		case at.Op == "bra" && at.Guard.Reg >= 0:
			way = append(way, fmt.Sprintf("@%s mov.pred %%mutant_p,0; ", c.leaves(at, next)))
		case at.Op == "bra":
		case at.Guard.Reg >= 0, memory(at):
			return
		default:
			way = append(way, fmt.Sprintf("@%%mutant_p %s; ", at.Text))
		}
	}
}

// leaves is the guard by which a branch does not go on with an instruction.
func (c *code) leaves(branch *ptx.Inst, next int) string {
	mark := ""
	if branch.Guard.Negate != (branch.Args[0].Target == next) {
		mark = "!"
	}
	return mark + c.name(branch.Guard.Reg)
}
