package exec

// mma.m8n8k4 of .f16, made for the tensor cores of sm_70, multiplies four times 8 x 4 by 4 x 8 elements. Product
// q is that of two quads: lanes 4q to 4q+3 and the lanes 16 behind them. (PTX ISA, "Matrix Fragments for mma.m8n8k4 with
// .f16 floating point type".)

// mmaQuads compiles it, when the shape has been taken.
func (c *compiler) mmaQuads(o *op, m *mmaInst) {
	layoutA, layoutB := c.take("row", "col"), c.take("row", "col")
	if layoutB == "" {
		c.fail("mma.m8n8k4 needs the layouts of A and B")
	}
	types := c.takeElements(4)
	d, a, b, start := types[0], types[1], types[2], types[3]
	if a.name != "f16" || b.name != "f16" || !a.accumulates(d) || !a.accumulates(start) || d.bits < start.bits {
		c.fail("mma.m8n8k4 has no .%s of .%s and .%s, added to .%s", d.name, a.name, b.name, start.name)
	}
	c.needs(70, 6, 4)
	if c.args(4); c.err != nil {
		return
	}
	m.acc = accumulators{rows: 16, columns: 16} // as many as those of four products
	c.mmaOperands(m, d, start)
	m.a, m.b = c.sources(1, 2, b32), c.sources(2, 2, b32)
	c.alignedRun(o, func(w *warp, _ *op) error { w.multiplyQuads(m, layoutA == "col", layoutB == "col"); return nil })
}

func (w *warp) multiplyQuads(m *mmaInst, byColumnA, byColumnB bool) {
	var out [8]lanes // a destination may be a source
	for q := range 4 {
		a, b := w.quadMatrix(m.a, 4*q, byColumnA), w.quadMatrix(m.b, 4*q, !byColumnB)
		for row := range 8 {
			for column := range 8 {
				lane, e := quadElement(m.halfC, row, column)
				sum := m.quadSum(a.row(row), b.row(column), w.startOf(m, e, 4*q+lane))
				lane, e = quadElement(m.halfD, row, column)
				if m.halfD {
					out[e/2][4*q+lane] |= sum << (e % 2 * 16)
				} else {
					out[e][4*q+lane] = sum
				}
			}
		}
	}
	for j, slot := range m.d {
		w.regs[slot] = out[j]
	}
}

// quadMatrix decodes a matrix of eight rows of four, which two quads hold: a lane has a row, or of four rows what is
// in one place along K.
func (w *warp) quadMatrix(slots []int32, first int, acrossRows bool) matrix[float32] {
	all := matrix[float32]{4, make([]float32, 8*4)}
	for row := range 8 {
		for k := range 4 {
			within, e := row%4, k
			if acrossRows {
				within, e = e, within
			}
			v := w.regs[slots[e/2]][first+within+row/4*16] >> (e % 2 * 16)
			all.row(row)[k] = float32(binary16.decode(v & 0xffff))
		}
	}
	return all
}

// quadElement is the lane that holds an accumulator, from the first one of the product on, and which of its elements.
func quadElement(half bool, row, column int) (lane, element int) {
	if half {
		return row%4 + row/4*16, column
	}
	return row&1 | column&2 | row/4*16, row&2 | column&4 | column&1
}
