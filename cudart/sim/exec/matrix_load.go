package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// Matrices of 8 rows of 8 elements of 16 bits, PTX ISA, "Warp-level matrix load
// instruction: ldmatrix". A row is 16 bytes of shared memory, whose address a
// lane names: the first 8 lanes those of the first matrix, and so on. Each lane holds
// two elements of a matrix in a register: of row lane/4, those of columns
// lane%4*2 and the next; of a transposed matrix, of the column and the rows.

// rowBytes is the size and alignment of a row.
const rowBytes = 16

// matrixMove is a compiled ldmatrix or stmatrix.
type matrixMove struct {
	registers []int32 // one for each matrix
	transpose bool
}

// loadMatrix compiles ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p], and the forms of matrix_bytes.go.
func (c *compiler) loadMatrix(o *op) {
	c.needs(75, 6, 5)
	if shape := c.take("m8n16", "m16n16"); shape != "" {
		c.loadByteMatrix(o, shape)
		return
	}
	n, transpose := c.matrices()
	c.matrixRows(o, 1)
	m := &matrixMove{c.destinations(0, n, b32), transpose}
	c.alignedRun(o, func(w *warp, o *op) error { return w.loadMatrices(o, m) })
}

// storeMatrix compiles stmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 [p], r.
func (c *compiler) storeMatrix(o *op) {
	c.needs(90, 7, 8)
	if c.has("m16n8") {
		c.storeByteMatrix(o)
		return
	}
	n, transpose := c.matrices()
	c.matrixRows(o, 0)
	m := &matrixMove{c.sources(1, n, b32), transpose}
	c.alignedRun(o, func(w *warp, o *op) error { return w.storeMatrices(o, m) })
}

// matrices takes the number of matrices, and whether they are transposed.
func (c *compiler) matrices() (n int, transpose bool) {
	n = map[string]int{"x1": 1, "x2": 2, "x4": 4}[c.take("x1", "x2", "x4")]
	if n == 0 {
		c.fail("%s needs .x1, .x2 or .x4", c.in.Op)
	}
	return n, c.has("trans")
}

// smallMatrices takes .m8n8 and the type of ldmatrix and its like.
func (c *compiler) smallMatrices() {
	if !c.has("m8n8") || c.takeType() != b16 {
		c.fail("of the forms of %s, only .m8n8 of .b16 is implemented", c.in.Op)
	}
}

// matrixRows compiles the addresses of rows, which are operand i.
func (c *compiler) matrixRows(o *op, i int) {
	space := c.takeSpace()
	c.smallMatrices()
	c.args(2)
	if space != ptx.Shared && space != ptx.Generic {
		c.fail("%s is for shared memory", c.in.Op)
	}
	c.memory(o, i, space, b64)
	o.mem.size = rowBytes
}

// matrixRow returns where row r lies, of the matrices one below the other.
func (w *warp) matrixRow(o *op, r int) (unsafe.Pointer, error) {
	addr := w.regs[o.a][r]
	if (addr+o.mem.bias)>>RegionShift != sharedWindow>>RegionShift {
		return nil, w.fault(IllegalAddress, r, "address %#x is not in shared memory", addr)
	}
	return w.writable(o, addr, r)
}

func (w *warp) loadMatrices(o *op, m *matrixMove) error {
	var out [4]lanes
	for j := range m.registers {
		for r := range 8 {
			p, err := w.matrixRow(o, 8*j+r)
			if err != nil {
				return err
			}
			for k := range 8 {
				v := readPlain(unsafe.Add(p, 2*k), 2)
				lane, half := holder(r, k, m.transpose)
				out[j][lane] |= v << half
			}
		}
	}
	for j, slot := range m.registers {
		w.regs[slot] = out[j]
	}
	return nil
}

func (w *warp) storeMatrices(o *op, m *matrixMove) error {
	w.progresses()
	for j, slot := range m.registers {
		for r := range 8 {
			p, err := w.matrixRow(o, 8*j+r)
			if err != nil {
				return err
			}
			addr := w.regs[o.a][8*j+r] + o.mem.bias
			w.block.generic.note(w, addr)
			if w.recordsOverwrites(addr) {
				w.recordOverwrite(p, rowBytes/2, 8*j+r)
				w.recordOverwrite(unsafe.Add(p, rowBytes/2), rowBytes/2, 8*j+r)
			}
			for k := range 8 {
				lane, half := holder(r, k, m.transpose)
				writePlain(unsafe.Add(p, 2*k), 2, w.regs[slot][lane]>>half)
			}
		}
	}
	return nil
}

// holder returns the lane that holds the element of a row and column, and the
// bit of the register where it begins.
func holder(row, column int, transpose bool) (lane, half int) {
	if transpose {
		row, column = column, row
	}
	return 4*row + column/2, 16 * (column % 2)
}

// transposeMatrix compiles movmatrix.sync.aligned.m8n8.trans.b16 d, a.
func (c *compiler) transposeMatrix(o *op) {
	c.needs(75, 7, 8)
	c.smallMatrices()
	if !c.has("trans") {
		c.fail("movmatrix needs .trans")
	}
	c.args(2)
	c.dst(&o.d, 0, b32)
	c.src(&o.a, 1, b32)
	c.alignedRun(o, func(w *warp, o *op) error {
		var out lanes
		for i := range 64 {
			lane, half := holder(i/8, i%8, false)
			from, low := holder(i/8, i%8, true)
			out[lane] |= w.regs[o.a][from] >> low & 0xffff << half
		}
		w.regs[o.d] = out
		return nil
	})
}
