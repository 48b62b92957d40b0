package exec

import (
	"cmp"
	"slices"
)

// allocate maps the virtual registers that PTX uses freely to as few slots of
// the warp's register file as a linear scan finds, which keeps the working
// set of a warp in the cache. Sharing a slot is safe under divergence, because
// every write is masked: seen from a single lane, the program is sequential.
func (c *compiler) allocate() {
	total := len(c.entry.Regs) + len(c.consts)
	slots := make([]int32, total)
	next := c.unit.slots[0]
	for k, virtual := range c.consts {
		c.kernel.presets = append(c.kernel.presets, preset{k, virtual, staticSpecial(k.special)})
	}
	// Map order is random; compiling must not be.
	slices.SortFunc(c.kernel.presets, func(a, b preset) int { return cmp.Compare(a.slot, b.slot) })
	for i := range c.kernel.presets {
		k := &c.kernel.presets[i]
		slots[k.slot], k.slot = next, next
		next++
	}

	free := []int32{}
	active := []interval{} // sorted by end
	for _, iv := range c.intervals() {
		for len(active) > 0 && active[0].end < iv.start {
			free = append(free, slots[active[0].reg])
			active = active[1:]
		}
		if n := len(free); n > 0 {
			slots[iv.reg], free = free[n-1], free[:n-1]
		} else {
			slots[iv.reg] = next
			next++
		}
		at, _ := slices.BinarySearchFunc(active, iv.end, func(a interval, end int) int {
			if a.end <= end { // behind its equals, at the end of the list as a rule
				return -1
			}
			return 1
		})
		active = slices.Insert(active, at, iv)
	}
	for _, r := range c.refs {
		*r.slot = slots[*r.slot]
	}
	c.kernel.regs = int(next)
}

// name lists the registers of each op, once each. Reads come before writes.
func (c *compiler) name() {
	reads, writes := make([][]int32, len(c.kernel.code)), make([][]int32, len(c.kernel.code))
	for _, r := range c.refs {
		if r.def {
			writes[r.at] = append(writes[r.at], *r.slot)
		} else {
			reads[r.at] = append(reads[r.at], *r.slot)
		}
	}
	once := func(slots []int32) []int32 {
		slices.Sort(slots)
		return slices.Compact(slots)
	}
	for i := range c.kernel.code {
		o := &c.kernel.code[i]
		o.names = once(reads[i])
		o.reads = len(o.names)
		o.names = append(o.names, once(writes[i])...)
	}
}

// interval is the stretch of code, both ends included, in which a register
// may hold a value that is still wanted.
type interval struct{ reg, start, end int }

// intervals computes live intervals, by start, of the registers that are used.
func (c *compiler) intervals() []interval {
	n := len(c.entry.Regs)
	all := make([]interval, n)
	for i := range all {
		all[i] = interval{i, len(c.kernel.code), -1}
	}
	touch := func(reg, at int) {
		all[reg].start, all[reg].end = min(all[reg].start, at), max(all[reg].end, at)
	}
	for _, r := range c.refs {
		if int(*r.slot) < n {
			touch(int(*r.slot), r.at)
		}
	}
	leader, blocks := c.leaders()
	if blocks*n > maxLiveness {
		for i := range all {
			if all[i].end >= 0 {
				all[i].start, all[i].end = 0, len(c.kernel.code)
			}
		}
		blocks = 0
	}
	for _, b := range c.liveness(leader, blocks) {
		b.in.each(func(reg int) { touch(reg, b.start) })
		b.out.each(func(reg int) { touch(reg, b.end-1) })
	}
	all = slices.DeleteFunc(all, func(iv interval) bool { return iv.end < 0 })
	slices.SortFunc(all, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.reg, b.reg))
	})
	return all
}
