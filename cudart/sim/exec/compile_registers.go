package exec

import (
	"cmp"
	"math/bits"
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
		at, _ := slices.BinarySearchFunc(active, iv.end, func(a interval, end int) int { return cmp.Compare(a.end, end) })
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
	for _, b := range c.liveness() {
		b.in.each(func(reg int) { touch(reg, b.start) })
		b.out.each(func(reg int) { touch(reg, b.end-1) })
	}
	all = slices.DeleteFunc(all, func(iv interval) bool { return iv.end < 0 })
	slices.SortFunc(all, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.reg, b.reg))
	})
	return all
}

// basicBlock is a run of ops entered only at its start and left only at its
// end, with the registers read before written (use), surely written (def), and
// live at its borders.
type basicBlock struct {
	start, end int
	next       []int // successor blocks
	use, def   bitset
	in, out    bitset
}

// liveness solves the usual backward data-flow equations.
func (c *compiler) liveness() []*basicBlock {
	blocks := c.blocks()
	c.fillUseDef(blocks)
	for changed := true; changed; {
		changed = false
		for i := len(blocks) - 1; i >= 0; i-- {
			b := blocks[i]
			for _, s := range b.next {
				changed = b.out.add(blocks[s].in) || changed
			}
			for w := range b.in {
				b.in[w] = b.use[w] | b.out[w]&^b.def[w]
			}
		}
	}
	return blocks
}

func (c *compiler) blocks() []*basicBlock {
	code := c.kernel.code
	leader := make([]bool, len(code)+1)
	leader[0] = true
	for i := range code {
		if targets, ends := c.successors(i); ends {
			leader[i+1] = true
			for _, t := range targets {
				leader[t] = true
			}
		}
	}
	index := make([]int, len(code)+1)
	var blocks []*basicBlock
	for i := range code {
		if leader[i] {
			n := len(c.entry.Regs)
			blocks = append(blocks, &basicBlock{start: i, use: newBitset(n), def: newBitset(n), in: newBitset(n), out: newBitset(n)})
		}
		index[i] = len(blocks) - 1
		blocks[len(blocks)-1].end = i + 1
	}
	for _, b := range blocks {
		targets, ends := c.successors(b.end - 1)
		if !ends {
			targets = []int{b.end}
		}
		for _, t := range targets {
			if t < len(code) {
				b.next = append(b.next, index[t])
			}
		}
	}
	return blocks
}

// successors returns where op i may go, if it can go anywhere but to the next.
func (c *compiler) successors(i int) (targets []int, ends bool) {
	o := &c.kernel.code[i]
	if o.kind == opBranch {
		targets = []int{int(o.target)}
	} else if o.table != nil {
		targets = o.table
	} else {
		return nil, false
	}
	if o.guard >= 0 {
		targets = append(slices.Clone(targets), i+1)
	}
	return targets, true
}

// fillUseDef walks the refs, which are in code order. Within an op, reads come
// before writes; a guarded write may leave the old value, so it is no def.
func (c *compiler) fillUseDef(blocks []*basicBlock) {
	b := 0
	for from := 0; from < len(c.refs); {
		at, to := c.refs[from].at, from
		for to < len(c.refs) && c.refs[to].at == at {
			to++
		}
		for blocks[b].end <= at {
			b++
		}
		for _, r := range c.refs[from:to] {
			reg := int(*r.slot)
			if reg < len(c.entry.Regs) && !r.def && !blocks[b].def.has(reg) {
				blocks[b].use.set(reg)
			}
		}
		for _, r := range c.refs[from:to] {
			reg := int(*r.slot)
			if reg < len(c.entry.Regs) && r.def && c.kernel.code[at].guard < 0 {
				blocks[b].def.set(reg)
			}
		}
		from = to
	}
}

type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (s bitset) set(i int)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// add unites s with t and reports whether s grew.
func (s bitset) add(t bitset) bool {
	grew := false
	for i := range s {
		grew = grew || t[i]&^s[i] != 0
		s[i] |= t[i]
	}
	return grew
}

func (s bitset) each(f func(int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}
