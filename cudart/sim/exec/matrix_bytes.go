package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// Matrices of elements of 8 bits, of which 16 are a row of shared memory. They may be packed there with 6 or 4 bits, and
// become bytes. A lane names the address of a row. What the other lanes hold is from CUTLASS's layouts.

// byteMatrix is a compiled ldmatrix or stmatrix of them.
type byteMatrix struct {
	registers []int32
	rows      int  // of a matrix: 16 take two registers
	transpose bool // a lane holds parts of two columns, and not of a row
	bits      int  // of an element in shared memory
}

// loadByteMatrix compiles
//
//	ldmatrix.sync.aligned.m8n16.num{.shared}.b8x16.{b6x16_p32,b4x16_p64} r, [p];
//	ldmatrix.sync.aligned.m16n16.{x1,x2}.trans{.shared}.{b8,b8x16.b6x16_p32,b8x16.b4x16_p64} r, [p];
func (c *compiler) loadByteMatrix(o *op, shape string) {
	n, transpose := c.matrices()
	m := &byteMatrix{rows: 8, transpose: transpose, bits: 8}
	if shape == "m16n16" {
		m.rows = 16
		n *= 2
	}
	if c.has("b8x16") {
		m.bits = map[string]int{"b6x16_p32": 6, "b4x16_p64": 4}[c.take("b6x16_p32", "b4x16_p64")]
	} else if !c.has("b8") || m.rows == 8 {
		m.bits = 0
	}
	if transpose != (m.rows == 16) || m.bits == 0 || n > 4 {
		c.fail("this form of ldmatrix.%s is not implemented", shape)
	}
	c.byteRows(o, 1)
	m.registers = c.destinations(0, min(n, 4), b32)
	c.alignedRun(o, func(w *warp, o *op) error { return w.loadByteMatrices(o, m) })
}

// storeByteMatrix compiles stmatrix.sync.aligned.m16n8.num.trans{.shared}.b8 [p], r.
func (c *compiler) storeByteMatrix(o *op) {
	n, transpose := c.matrices()
	if !transpose || !c.has("b8") {
		c.fail("stmatrix with .m16n8 needs .trans and .b8")
	}
	c.byteRows(o, 0)
	m := &byteMatrix{registers: c.sources(1, n, b32), rows: 8, transpose: true, bits: 8}
	c.alignedRun(o, func(w *warp, o *op) error { return w.storeByteMatrices(o, m) })
}

// byteRows compiles the addresses of rows, which are operand i.
func (c *compiler) byteRows(o *op, i int) {
	if m := c.program.module; m.SM < 100 || m.Feature == "" || !m.AtLeast(8, 6) {
		c.fail("%s of 8-bit elements needs a target such as sm_100a, and PTX 8.6", c.in.Op)
	}
	space := c.takeSpace()
	c.args(2)
	if space != ptx.Shared && space != ptx.Generic {
		c.fail("%s is for shared memory", c.in.Op)
	}
	c.memory(o, i, space, b64)
	o.mem.size = rowBytes
}

// place is the row of shared memory, of all matrices one below the other, and the element there that a lane holds in a
// byte of a register.
func (m *byteMatrix) place(lane, register, at int) (row, element int) {
	switch {
	case !m.transpose:
		return 8*register + lane/4, lane%4*4 + at
	case m.rows == 16:
		return 16*(register/2) + lane%4*4 + register%2*2 + at%2, lane/4 + at/2*8
	}
	return 8*register + lane%4*2 + at%2, lane/4 + at/2*8
}

func (w *warp) loadByteMatrices(o *op, m *byteMatrix) error {
	var rows [32][rowBytes]byte
	for r := range len(m.registers) * 8 {
		p, err := w.matrixRow(o, r)
		if err != nil {
			return err
		}
		if rows[r] = *(*[rowBytes]byte)(p); m.bits < 8 {
			rows[r] = unpackChunk((*[rowBytes]byte)(p), m.bits)
		}
	}
	for j, slot := range m.registers {
		for lane := range 32 {
			v := uint64(0)
			for at := range 4 {
				row, element := m.place(lane, j, at)
				v |= uint64(rows[row][element]) << (8 * at)
			}
			w.regs[slot][lane] = v
		}
	}
	return nil
}

func (w *warp) storeByteMatrices(o *op, m *byteMatrix) error {
	w.progresses()
	var rows [32][rowBytes]byte
	for j, slot := range m.registers {
		for lane := range 32 {
			for at := range 4 {
				row, element := m.place(lane, j, at)
				rows[row][element] = byte(w.regs[slot][lane] >> (8 * at))
			}
		}
	}
	for r := range len(m.registers) * 8 {
		p, err := w.matrixRow(o, r)
		if err != nil {
			return err
		}
		addr := w.regs[o.a][r] + o.mem.bias
		w.block.generic.note(w, addr)
		if w.recordsOverwrites(addr) {
			w.recordOverwrite(p, rowBytes/2, r)
			w.recordOverwrite(unsafe.Add(p, rowBytes/2), rowBytes/2, r)
		}
		copy(unsafe.Slice((*byte)(p), rowBytes), rows[r][:])
	}
	return nil
}
