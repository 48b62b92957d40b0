package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// Registers of 128 bits. Each is two registers of 64 bits, which mov packs and unpacks. A load, a store or an atomic
// operation on .b128 is one access, unlike one of a vector, for which PTX promises no more than its elements.

// splitWide declares two registers of 64 bits for each one of 128.
func (c *compiler) splitWide() {
	half := ptx.Type{Class: ptx.Bits, Bits: 64, Lanes: 1}
	for i, r := range c.entry.Regs {
		if r.Type.Width() == 128 {
			if c.halves == nil {
				c.halves = map[int]int{}
			}
			c.halves[i] = len(c.entry.Regs)
			c.entry.Regs = append(c.entry.Regs, ptx.Reg{Name: r.Name, Type: half}, ptx.Reg{Name: r.Name, Type: half})
		}
	}
}

// wide128 returns the low and the high half of an operand of type .b128.
func (c *compiler) wide128(o ptx.Operand) []ptx.Operand {
	if o.Kind == ptx.Sink {
		return []ptx.Operand{o, o}
	}
	at, ok := c.halves[o.Reg]
	if !o.Whole() || !ok {
		c.fail("%s needs a register of 128 bits here", c.in.Op)
		return []ptx.Operand{o, o}
	}
	low, high := o, o
	low.Reg, high.Reg = at, at+1
	return []ptx.Operand{low, high}
}

// moveWide compiles mov.b128, from and to registers of 128 bits or pairs of 64.
func (c *compiler) moveWide(o *op) {
	c.needs(70, 8, 3)
	var to, from [2]int32
	halves := func(i int) []ptx.Operand {
		if a := c.arg(i); a.Kind == ptx.Vector && len(a.Elems) == 2 {
			return a.Elems
		}
		return c.wide128(c.arg(i))
	}
	for k, e := range halves(1) {
		c.srcOperand(&from[k], e, b64)
	}
	for k, e := range halves(0) {
		c.dstOperand(&to[k], e, b64)
	}
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		low, high := w.regs[from[0]], w.regs[from[1]] // copies: a destination may be a source
		w.setReg(to[0], &low, mask)
		w.setReg(to[1], &high, mask)
		return nil
	}
}

// takeElementType takes the type of a load's or store's elements. One of .b128 is two of .b64 that are accessed at
// once.
func (c *compiler) takeElementType(elems []ptx.Operand) (t ptx.Type, all []ptx.Operand, whole bool) {
	if t = c.takeType(); t.Width() != 128 || len(elems) != 1 {
		return t, elems, false
	}
	c.needs(70, 8, 3)
	return b64, c.wide128(elems[0]), true
}

// atomicWide compiles atom.exch.b128 and atom.cas.b128.
func (c *compiler) atomicWide(o *op, order order, space ptx.Space, name string) {
	c.needs(90, 8, 3)
	if c.in.Op != "atom" || name != "exch" && name != "cas" {
		c.fail("of the atomic operations, .exch and .cas have .b128")
		return
	}
	if !hasWideSwap {
		c.fail("atom.b128 needs a host with an atomic exchange of 16 bytes, as amd64 has")
		return
	}
	last := 2
	if name == "cas" {
		last = 3
	}
	c.args(last + 1)
	mem := c.memory(o, 1, space, b64)
	mem.order, mem.vector, mem.writes = order, make([]int32, 2), true
	var compare, to [2]int32
	for k, e := range c.wide128(c.arg(last)) {
		c.srcOperand(&mem.vector[k], e, b64)
	}
	if name == "cas" {
		for k, e := range c.wide128(c.arg(2)) {
			c.srcOperand(&compare[k], e, b64)
		}
	}
	for k, e := range c.wide128(c.arg(0)) {
		c.dstOperand(&to[k], e, b64)
	}
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var out [2]lanes
		err := w.atomically(o, mask, func(p unsafe.Pointer, lane int) {
			w.flushAt(p, wholeBytes)
			next := word{w.regs[mem.vector[0]][lane], w.regs[mem.vector[1]][lane]}
			old := word{w.regs[compare[0]][lane], w.regs[compare[1]][lane]}
			if name == "exch" {
				old = exchangeWord(p, next)
			} else {
				old = swapWord(p, old, next)
			}
			for k, v := range old {
				out[k][lane] = v
				w.observeUnwatched(v)
			}
		})
		for k := range to {
			if err == nil {
				w.setReg(to[k], &out[k], mask)
			}
		}
		return err
	}
}

// exchangeWord writes 16 bytes at once and returns what was there.
func exchangeWord(p unsafe.Pointer, next word) word {
	old := readPiece(p, wholeBytes)
	for {
		seen := swapWord(p, old, next)
		if seen == old {
			return old
		}
		old = seen
	}
}
