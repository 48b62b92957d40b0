package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// wmmaMove is a compiled wmma.load or wmma.store. Addresses and distances are in elements.
type wmmaMove struct {
	*elementType
	registers []int32
	distinct  int // registers that do not repeat others
	// place is where an element of a register lies: in which line, and where in it.
	place func(register, element, lane int) (line, at int)
	// together is how many elements of a register are neighbors in memory.
	together int
	stride   int32 // the register of the distance between lines
}

// wmmaLoad compiles wmma.load.{a,b,c}.sync.aligned.layout.shape{.space}.type r, [p]{, stride}.
func (c *compiler) wmmaLoad(o *op) {
	what := c.take("a", "b", "c")
	m, n := c.wmmaMove(o, what, 1)
	if c.err != nil {
		return
	}
	m.registers = c.destinations(0, n, m.register())
	c.alignedRun(o, func(w *warp, o *op) error { return w.loadFragment(o, m) })
}

// wmmaStore compiles wmma.store.d.sync.aligned.layout.shape{.space}.type [p], r{, stride}.
func (c *compiler) wmmaStore(o *op) {
	m, n := c.wmmaMove(o, c.take("d"), 0)
	if c.err != nil {
		return
	}
	m.registers = c.sources(1, n, m.register())
	c.alignedRun(o, func(w *warp, o *op) error { return w.storeFragment(o, m) })
}

// wmmaMove compiles what loads and stores have in common. The address is an operand of the given number.
// It returns the number of registers, too.
func (c *compiler) wmmaMove(o *op, what string, address int) (m *wmmaMove, registers int) {
	layout, shape, space := c.take("row", "col"), c.takeShape(), c.takeSpace()
	m = &wmmaMove{elementType: c.takeElement()}
	if what == "" || layout == "" {
		c.fail("wmma.load needs .a, .b or .c, wmma.store .d, and both .row or .col")
	}
	c.wmmaMoveNeeds(m.elementType, shape, what)
	if c.err != nil {
		return nil, 0
	}
	line := 0 // elements of a line of a matrix without gaps
	if what == "a" || what == "b" {
		f, other, _ := fragments(m.elementType, m.elementType, shape)
		if what == "b" {
			f = other
		}
		alongK := (layout == "row") == (what == "a")
		if m.bits < 8 && !alongK {
			c.fail("wmma.load of elements below 8 bits has A in .row and B in .col")
		}
		line = m.placeFragment(f, alongK)
		registers = f.wmmaRegisters()
	} else {
		_, _, acc := fragments(m.elementType, m.elementType, shape)
		line = m.placeAccumulators(acc, layout == "row")
		registers = acc.count() / m.perRegister()
	}
	c.memory(o, address, space, b32)
	o.mem.size = uint64(max(1, m.together*m.bits/8))
	if len(c.in.Args) == 3 {
		c.src(&m.stride, 2, u32)
	} else {
		c.args(2)
		c.use(&m.stride, c.constant(constant{value: uint64(line)}))
	}
	if space == ptx.Param || space == ptx.Const || space == ptx.Local {
		c.fail("wmma is for shared and global memory")
	}
	c.moved = m
	return m, registers
}

// wmmaMoveNeeds checks the type and shape of a fragment. That of an accumulator may belong to several
// types of A.
func (c *compiler) wmmaMoveNeeds(t *elementType, s matrixShape, what string) {
	if what == "a" || what == "b" {
		c.wmmaNeeds(s, t)
		return
	}
	for i := range elementTypes {
		a := &elementTypes[i]
		for _, shape := range wmmaShapes[a.name] {
			if shape == s && a.accumulates(t) {
				c.wmmaNeeds(s, a)
				return
			}
		}
	}
	c.fail("wmma has no accumulators of .%s in shape %s", t.name, s)
}

// placeFragment says where the elements of A or B lie: along K in a line, or across. It returns the
// elements of a line.
func (m *wmmaMove) placeFragment(f fragment, alongK bool) (line int) {
	m.distinct, m.together = f.registers(), f.perRegister()
	if alongK {
		m.place = func(register, element, lane int) (int, int) {
			row, k := f.place(register, lane)
			return row, k + element
		}
		return f.k
	}
	m.together = 1
	m.place = func(register, element, lane int) (int, int) {
		row, k := f.place(register, lane)
		return k + element, row
	}
	return f.rows
}

// placeAccumulators does so for C and D.
func (m *wmmaMove) placeAccumulators(acc accumulators, rowMajor bool) (line int) {
	per := m.perRegister()
	m.distinct = acc.count() / per
	if m.together = per; rowMajor == acc.transposed {
		m.together = 1
	}
	if rowMajor {
		m.place = func(register, element, lane int) (int, int) { return acc.place(per*register+element, lane) }
		return acc.columns
	}
	m.place = func(register, element, lane int) (int, int) {
		row, column := acc.place(per*register+element, lane)
		return column, row
	}
	return acc.rows
}

// eachUnit calls f for what a lane has of a register and memory has in one piece: at an address,
// beginning at a bit.
func (m *wmmaMove) eachUnit(w *warp, o *op, register, lane int, f func(base uint64, bit int) error) error {
	stride := w.regs[m.stride][lane]
	for i := 0; i < m.perRegister(); i += m.together {
		line, at := m.place(register, i, lane)
		offset := (uint64(line)*stride + uint64(at)) * uint64(m.bits) / 8
		if err := f(w.regs[o.a][lane]+offset, i*m.bits); err != nil {
			return err
		}
	}
	return nil
}

func (w *warp) loadFragment(o *op, m *wmmaMove) error {
	out := make([]lanes, m.distinct) // the address or stride may be a destination
	for j := range m.distinct {
		for lane := range 32 {
			err := m.eachUnit(w, o, j, lane, func(base uint64, bit int) error {
				p, err := w.pointer(o, base, lane)
				if err == nil {
					v := w.visibleValue(readPiece(p, o.mem.size), p, o.mem.size, lane, true, false)
					out[j][lane] |= v[0] << bit
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	for j, slot := range m.registers {
		w.regs[slot] = out[j%m.distinct]
	}
	return nil
}

func (w *warp) storeFragment(o *op, m *wmmaMove) error {
	w.progresses()
	for j, slot := range m.registers {
		for lane, v := range &w.regs[slot] {
			err := m.eachUnit(w, o, j, lane, func(base uint64, bit int) error {
				p, err := w.writable(o, base, lane)
				if err == nil {
					w.storeWeakly(p, base+o.mem.bias, o.mem.size, v>>bit, lane)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// storeWeakly stores one element of a lane as st.weak does.
func (w *warp) storeWeakly(p unsafe.Pointer, addr, size, v uint64, lane int) {
	w.block.generic.note(w, addr)
	if w.recordsOverwrites(addr) {
		w.recordOverwrite(p, size, lane)
	}
	if w.stores != nil && addr>>RegionShift >= FirstRegion {
		w.stores.push(p, size, word{v}, w.thread(lane), false)
		return
	}
	writePlain(p, size, v)
}
