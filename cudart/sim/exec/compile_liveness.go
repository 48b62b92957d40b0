package exec

import (
	"math/bits"
	"slices"
)

// basicBlock is a run of ops entered only at its start and left only at its
// end, with the registers read before written (use), surely written (def), and
// live at its borders.
type basicBlock struct {
	start, end int
	next       []int // successor blocks
	use, def   bitset
	in, out    bitset
}

// maxLiveness bounds the product of registers and basic blocks. In a larger function every register is kept
// all the time.
const maxLiveness = 1 << 28

// liveness solves the usual backward data-flow equations, for so many blocks.
func (c *compiler) liveness(leader []bool, count int) []*basicBlock {
	if count == 0 {
		return nil
	}
	blocks := c.blocks(leader)
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

// leaders are the ops at which a basic block begins.
func (c *compiler) leaders() (leader []bool, count int) {
	code := c.kernel.code
	leader = make([]bool, len(code)+1)
	leader[0] = true
	for i := range code {
		if targets, ends := c.successors(i); ends {
			leader[i+1] = true
			for _, t := range targets {
				leader[t] = true
			}
		}
	}
	for _, begins := range leader {
		if begins {
			count++
		}
	}
	return leader, count
}

func (c *compiler) blocks(leader []bool) []*basicBlock {
	code := c.kernel.code
	index := make([]int, len(code)+1)
	var blocks []*basicBlock
	for i := range code {
		if leader[i] {
			n := len(c.entry.Regs)
			blocks = append(blocks, &basicBlock{
				start: i, use: newBitset(n), def: newBitset(n), in: newBitset(n), out: newBitset(n),
			})
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
