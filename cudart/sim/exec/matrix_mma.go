package exec

import "gpurun/cudart/sim/tensorcore"

// matrix compiles the instructions on matrices that a warp or a warpgroup holds
// together.
func (c *compiler) matrix(o *op) {
	switch c.in.Op {
	case "mma":
		c.mma(o)
	case "ldmatrix":
		c.loadMatrix(o)
	case "stmatrix":
		c.storeMatrix(o)
	case "movmatrix":
		c.transposeMatrix(o)
	case "wgmma":
		c.wgmma(o)
	}
}

// mmaInst is the operands of a compiled mma: d = a*b + c. The fragments are
// those of PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point
// type": a lane is a row or column of 8, and a place in a row of 4 pairs.
type mmaInst struct {
	format     tensorcore.Format
	k          int
	d, a, b, c []int32
}

// mma compiles mma.sync.aligned.{m16n8k8, m16n8k16}.row.col.f32.type.type.f32 d, a, b, c.
func (c *compiler) mma(o *op) {
	c.needs(80, 7, 0)
	k := map[string]int{"m16n8k8": 8, "m16n8k16": 16}[c.take("m16n8k8", "m16n8k16")]
	layout := c.has("row") && c.has("col")
	m := &mmaInst{k: k, format: c.multiplicands()}
	if to := c.takeType(); k == 0 || to != typeF32 || !layout {
		c.fail("of the forms of mma, only .m16n8k8 and .m16n8k16 .row.col with .f32 accumulators are implemented")
	}
	if c.args(4); c.err != nil {
		return
	}
	m.d = c.destinations(0, 4, typeF32)
	m.a = c.sources(1, k/4, b32)
	m.b = c.sources(2, k/8, b32)
	m.c = c.sources(3, 4, typeF32)
	c.alignedRun(o, func(w *warp, _ *op) error { w.multiply(m); return nil })
}

// multiplicands takes the types .f32.a.b of an accumulator and of two matrices, which
// must be of one 16-bit type.
func (c *compiler) multiplicands() tensorcore.Format {
	d, a, b := c.takeType(), c.takeType(), c.takeType()
	if d != typeF32 || a != b || a != typeF16 && a != typeBF16 {
		c.fail("%s multiplies .f16 by .f16 or .bf16 by .bf16, to .f32; other types are not implemented", c.in.Op)
	}
	if a == typeBF16 {
		return tensorcore.BFloat16
	}
	return tensorcore.Half
}

func (w *warp) multiply(m *mmaInst) {
	var a, b [16][16]tensorcore.Element
	w.fragmentA(m.format, m.a, a[:])
	for j, slot := range m.b {
		for lane, v := range &w.regs[slot] {
			decodePair(m.format, v, b[lane/4][8*j+lane%4*2:])
		}
	}
	padding := findPadding(a[:], b[:8])
	var out [4]lanes // a destination may be a source
	for j := range out {
		for lane := range 32 {
			row, column := lane/4+8*(j/2), lane%4*2+j%2
			start := uint32(w.regs[m.c[j]][lane])
			n := padding.products(row, column, m.k)
			out[j][lane] = uint64(w.grid.cfg.TensorCores.Dot(start, a[row][:n], b[column][:n]))
		}
	}
	for j := range out {
		w.regs[m.d[j]] = out[j]
	}
}

// fragmentA decodes a matrix of 16 rows that a warp holds in two or four
// registers a lane.
func (w *warp) fragmentA(f tensorcore.Format, slots []int32, rows [][16]tensorcore.Element) {
	for j, slot := range slots {
		for lane, v := range &w.regs[slot] {
			decodePair(f, v, rows[lane/4+8*(j%2)][8*(j/2)+lane%4*2:])
		}
	}
}

// decodePair decodes two elements, the first in the lower half.
func decodePair(f tensorcore.Format, v uint64, to []tensorcore.Element) {
	to[0], to[1] = f.Decode(uint16(v)), f.Decode(uint16(v>>16))
}
