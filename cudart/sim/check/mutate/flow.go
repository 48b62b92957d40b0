package mutate

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// registers lists those in operands, the bases of addresses included.
func registers(args ...ptx.Operand) (all []int) {
	for _, a := range args {
		if a.Kind == ptx.Register {
			all = append(all, a.Reg)
		}
		all = append(all, registers(a.Elems...)...)
	}
	return all
}

// defines lists the registers that an instruction writes.
func defines(in *ptx.Inst) []int {
	switch {
	case len(in.Args) == 0, slices.Contains([]string{"st", "red", "bra", "brx", "ret", "prefetch"}, in.Op):
		return nil
	case in.Op == "bar" && !has(in, "red"), in.Args[0].Kind == ptx.Address:
		return nil
	}
	return registers(in.Args[0])
}

// uses lists the registers that an instruction reads, without its guard.
func uses(in *ptx.Inst) []int {
	if len(defines(in)) == 0 {
		return registers(in.Args...)
	}
	return registers(in.Args[1:]...)
}

// derived are the registers whose values are computed from those of others, without a detour by memory or by branches.
// Predicates are the end of a chain.
func (c *code) derived(from []int) map[int]bool {
	known := map[int]bool{}
	for _, r := range from {
		known[r] = true
	}
	for grown := true; grown; {
		grown = false
		for i := range c.body {
			in := &c.body[i]
			if memory(in) || !slices.ContainsFunc(uses(in), func(r int) bool { return known[r] && !c.predicate(r) }) {
				continue
			}
			for _, r := range defines(in) {
				grown = grown || !known[r]
				known[r] = true
			}
		}
	}
	return known
}

func (c *code) predicate(reg int) bool { return c.regs[reg].Type.Class == ptx.Pred }

// poll is strong loads that are repeated at the same addresses until tests of what they read hold.
type poll struct {
	loads []*ptx.Inst
	tests []*ptx.Inst // in their order
}

// polls lists the polls for memory.
func (c *code) polls() (all []poll) {
	done := map[*ptx.Inst]bool{}
	for i := range c.body {
		in := &c.body[i]
		if done[in] || !memory(in) || !strong(in) || len(defines(in)) == 0 || len(in.Args) < 2 || c.timeout(in) != nil {
			continue
		}
		p := c.poll(i)
		if len(p.tests) > 0 {
			all = append(all, p)
		}
		for _, load := range p.loads {
			done[load] = true
		}
	}
	return all
}

// poll is the one that a load belongs to: the loads on the shortest way from the load to itself, and the comparisons
// there that depend on what they have read.
func (c *code) poll(load int) (p poll) {
	in := &c.body[load]
	cycle := c.cycle(load, registers(in.Args[1]))
	slices.Sort(cycle)
	p.loads = []*ptx.Inst{in}
	known := c.derived(defines(in))
	for _, i := range cycle {
		other := &c.body[i]
		if other.Op != "ld" || !strong(other) || c.timeout(other) != nil {
			continue
		}
		// An atomic operation in a loop that polls with a load reports that the time is over.
		if in.Op == "atom" {
			return poll{}
		}
		p.loads = append(p.loads, other)
		for r := range c.derived(defines(other)) {
			known[r] = true
		}
	}
	for _, i := range cycle {
		if t := &c.body[i]; t.Op == "setp" && slices.ContainsFunc(uses(t), func(r int) bool { return known[r] }) {
			p.tests = append(p.tests, t)
		}
	}
	return p
}

// timeout is the instruction that sets the word which a load reads, where it is the one by which threads tell one
// another that the time is over: an atomic operation, which polls for nothing. It is nil for other loads.
func (c *code) timeout(load *ptx.Inst) *ptx.Inst {
	for i := range c.body {
		in := &c.body[i]
		if load.Op == "ld" && in.Op == "atom" && has(in, "cas") && sameAddress(in.Args[1], load.Args[1]) {
			return in
		}
	}
	return nil
}

// cycle is the shortest way from an instruction to itself on which some registers keep their values; nil if there is
// none.
func (c *code) cycle(start int, keep []int) []int {
	const longest = 120 // instructions of a loop that polls
	from := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, next := range c.successors(at) {
			if next == start {
				return path(from, at, start, longest)
			}
			if _, seen := from[next]; seen || next >= len(c.body) {
				continue
			}
			if slices.ContainsFunc(defines(&c.body[next]), func(r int) bool { return slices.Contains(keep, r) }) {
				continue
			}
			from[next] = at
			queue = append(queue, next)
		}
	}
	return nil
}

// path follows from back from an instruction to the start.
func path(from map[int]int, at, start, longest int) (all []int) {
	for ; at != start; at = from[at] {
		if all = append(all, at); len(all) > longest {
			return nil
		}
	}
	return all
}
