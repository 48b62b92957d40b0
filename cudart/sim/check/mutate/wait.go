package mutate

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// waits spoils the tests of polls, and the addresses that they read.
func (c *code) waits() {
	for _, p := range c.polls() {
		known := len(c.mutants)
		var skipped, first []edit
		for i, t := range p.tests {
			skipped = append(skipped, edit{t, c.pass(t)})
			if i > 0 {
				first = append(first, edit{t, c.pass(t)})
			}
		}
		all, one := WaitSkipped, PeerMissed
		if c.readsPacket(p) {
			all, one = PacketSkipped, PacketMissed
		}
		c.plant(all, skipped...)
		c.plantByThread(one, func(thread int) (all []edit) {
			for _, t := range p.tests {
				all = append(all, edit{t, t.Text + "; " + byThread(thread, c.pass(t))})
			}
			return all
		})
		if len(first) > 0 {
			c.plant(FirstWord, first...)
		}
		for _, m := range c.mutants[known:] {
			m.loads(p)
		}
		if in := p.loads[0]; len(p.tests) == 1 && in.Op == "ld" && c.bytes(in) == 4 && in.Guard.Reg < 0 &&
			in.Args[1].Elems[0].Kind == ptx.Register {
			c.plantByThread(WrongPeer, func(thread int) []edit { return []edit{c.wrongPeer(in, thread)} })
		}
	}
}

// loads notes of a mutant whose loads do not wait.
func (m *Mutant) loads(p poll) {
	for _, in := range p.loads {
		m.Loads = append(m.Loads, in.Line)
	}
	if m.Other != nil {
		m.Other.Loads = m.Loads
	}
}

// readsPacket reports whether a poll reads data along with its flag, as more than four bytes show.
func (c *code) readsPacket(p poll) bool {
	in := p.loads[0]
	return has(in, "v2", "v4") || c.bytes(in) == 8 && !strings.HasPrefix(in.Op, "atom")
}

// pass stands in place of a test that lets the poll end.
func (c *code) pass(test *ptx.Inst) string {
	return fmt.Sprintf("mov.pred %s,%d;", c.name(registers(test.Args[0])[0]), satisfied(test))
}

// satisfied is the result of a test after which a poll ends, as a predicate's constant: that a word is what is
// expected, or at least that. A word that is compared with zero is expected to change.
func satisfied(test *ptx.Inst) int {
	last := test.Args[len(test.Args)-1]
	zero := last.Kind == ptx.Immediate && last.Bits == 0
	met := has(test, "eq", "ge", "gt", "hs", "hi")
	if zero && has(test, "eq", "ne") {
		met = !met
	}
	if met {
		return -1
	}
	return 0
}

// byThread does something in one thread of each block alone.
func byThread(thread int, what string) string {
	return fmt.Sprintf("{ .reg .pred %%mutant_p; .reg .b32 %%mutant_r; mov.u32 %%mutant_r,%%tid.x; "+
		"setp.eq.u32 %%mutant_p,%%mutant_r,%d; @%%mutant_p %s }", thread, what)
}

// wrongPeer makes a thread of a block read the flag of a neighbor.
func (c *code) wrongPeer(in *ptx.Inst, thread int) edit {
	base, neighbor := c.name(in.Args[1].Elems[0].Reg), 4-8*thread
	return edit{in, fmt.Sprintf("{ .reg .pred %%mutant_p; .reg .b32 %%mutant_r; .reg .b64 %%mutant_d; "+
		"mov.u32 %%mutant_r,%%tid.x; setp.eq.u32 %%mutant_p,%%mutant_r,%d; selp.b64 %%mutant_d,%d,0,%%mutant_p; "+
		"add.s64 %%mutant_d,%%mutant_d,%s; %s %s,[%%mutant_d%+d]; }", thread, neighbor, base, opcode(in),
		c.name(in.Args[0].Reg), in.Args[1].Offset)}
}

// bytes is the size of an access to one element by its last modifier; 0 if it is none.
func (c *code) bytes(in *ptx.Inst) int64 {
	switch in.Mods[len(in.Mods)-1] {
	case "b32", "u32", "s32", "f32":
		return 4
	case "b64", "u64", "s64", "f64":
		return 8
	}
	return 0
}

// stores drops what one lane stores, and resets that one would miss.
func (c *code) stores() {
	constants := c.constants()
	for i := range c.body {
		in := &c.body[i]
		if in.Op != "st" || !strong(in) || in.Guard.Reg >= 0 {
			continue
		}
		values := registers(in.Args[1])
		isConstant := func(r int) bool { return constants[r] }
		if len(values) > 0 && !slices.ContainsFunc(values, func(r int) bool { return !isConstant(r) }) || len(values) == 0 {
			c.plant(ResetSkipped, nothing(in))
		}
		c.plantByThread(LaneDropped, func(thread int) []edit {
			return []edit{{in, fmt.Sprintf("{ .reg .pred %%mutant_p; .reg .b32 %%mutant_r; mov.u32 %%mutant_r,%%tid.x; "+
				"setp.ne.u32 %%mutant_p,%%mutant_r,%d; @%%mutant_p %s; }", thread, in.Text)}}
		})
	}
}

// constants are the registers that are set to constants alone.
func (c *code) constants() map[int]bool {
	set := map[int]bool{}
	for i := range c.body {
		in := &c.body[i]
		constant := in.Op == "mov" && len(uses(in)) == 0 && in.Args[1].Kind == ptx.Immediate
		for _, r := range defines(in) {
			if was, known := set[r]; known && !was {
				continue
			}
			set[r] = constant
		}
	}
	return set
}
