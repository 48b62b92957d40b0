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
	way := []int{flag} // instructions up to the flag, the last one first
	var conditions []ptx.Guard
	for i := flag; ; {
		before := c.predecessors(i)
		if len(before) != 1 {
			return
		}
		i = before[0]
		switch at := &c.body[i]; {
		case at.Op == "st" && !has(at, "volatile") && at.Guard.Reg < 0:
			c.plant(FlagFirst, edit{in, in.Text + "; " + at.Text + ";"}, nothing(at))
			return
		case isBarrier(at):
			slices.Reverse(way)
			c.plant(FlagFirst, edit{at, c.early(way, conditions) + at.Text + ";"}, nothing(in))
			return
		case at.Op == "bra" && at.Guard.Reg >= 0:
			// The way goes on behind the branch unless the branch leads to it.
			taken := at.Args[0].Target == way[len(way)-1] && i+1 != at.Args[0].Target
			conditions = append(conditions, ptx.Guard{Reg: at.Guard.Reg, Negate: at.Guard.Negate == taken})
		case at.Op == "bra":
		case memory(at):
			return
		default:
			way = append(way, i)
		}
	}
}

// early is what a way does, the flag's store last and under the conditions of the way. A condition holds where its
// predicate does not, or negated where it does.
func (c *code) early(way []int, conditions []ptx.Guard) string {
	var b strings.Builder
	b.WriteString("{ .reg .pred %mutant_p; ")
	for _, i := range way[:len(way)-1] {
		b.WriteString(c.body[i].Text + "; ")
	}
	b.WriteString("mov.pred %mutant_p,-1; ")
	for _, g := range conditions {
		mark := map[bool]string{false: "", true: "!"}[g.Negate]
		fmt.Fprintf(&b, "@%s%s mov.pred %%mutant_p,0; ", mark, c.name(g.Reg))
	}
	fmt.Fprintf(&b, "@%%mutant_p %s; } ", c.body[way[len(way)-1]].Text)
	return b.String()
}
