package exec

import "encoding/binary"

// tensorCopyShape is how tcgen05.cp copies rows of shared memory to lanes of tensor memory.
type tensorCopyShape struct {
	multicast string // that the shape needs
	rows      int
	chunks    int // of 16 bytes, in a row
	lanes     func(row int) []int
}

// tensorCopyShapes are the shapes by name, PTX ISA section 9.7.16.9.2.
var tensorCopyShapes = map[string][]tensorCopyShape{
	"128x256b": {{"", 128, 2, func(row int) []int { return []int{row} }}},
	"128x128b": {{"", 128, 1, func(row int) []int { return []int{row} }}},
	"4x256b":   {{"", 4, 2, func(row int) []int { return []int{32 * row} }}},
	"64x128b": {
		{"warpx2::02_13", 64, 1, func(row int) []int { return []int{row, row + 64} }},
		{"warpx2::01_23", 64, 1, func(row int) []int { return []int{row/32*64 + row%32, row/32*64 + row%32 + 32} }},
	},
	"32x128b": {{"warpx4", 32, 1, func(row int) []int { return []int{row, row + 32, row + 64, row + 96} }}},
}

// takeTensorCopyShape takes the shape and the multicast.
func (c *compiler) takeTensorCopyShape() tensorCopyShape {
	shapes := tensorCopyShapes[c.take("128x256b", "4x256b", "128x128b", "64x128b", "32x128b")]
	multicast := c.take("warpx2::02_13", "warpx2::01_23", "warpx4")
	for _, s := range shapes {
		if s.multicast == multicast {
			return s
		}
	}
	c.fail("tcgen05.cp has .128x256b, .4x256b, .128x128b, .64x128b with .warpx2::02_13 or .warpx2::01_23, and .32x128b with .warpx4")
	return tensorCopyShape{}
}

// copyToTensor compiles
//
//	tcgen05.cp.cta_group.shape{.multicast}{.b8x16.source} [address], descriptor;
//
// from shared memory, which it reads through the async proxy. Of both blocks of a pair, each copies its own.
func (c *compiler) copyToTensor(o *op) {
	group, shape := c.takeGroup(), c.takeTensorCopyShape()
	bits := 8
	switch {
	case !c.has("b8x16"):
	case c.has("b6x16_p32"):
		bits = 6
	case c.has("b4x16_p64"):
		bits = 4
	default:
		c.fail("tcgen05.cp with .b8x16 needs .b6x16_p32 or .b4x16_p64")
	}
	c.args(2)
	k := &tensorCopy{tensorCopyShape: shape, bits: bits}
	offset := c.tensorAddress(&o.a, 0)
	c.src(&o.b, 1, b64)
	c.kernel.usesTensorCores = true
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			if err := w.startTensorCopy(k, group, uint32(w.regs[o.a][lane])+offset, w.regs[o.b][lane], lane); err != nil {
				return err
			}
		}
		return nil
	}
}

// tensorCopy is a compiled tcgen05.cp.
type tensorCopy struct {
	tensorCopyShape
	bits int // of an element in shared memory: 8 if they are copied as they are
}

func (w *warp) startTensorCopy(k *tensorCopy, group int, address uint32, descriptor uint64, lane int) error {
	if err := w.useGroup(group, lane); err != nil {
		return err
	}
	source, why := newTensorTile(descriptor, false)
	if why != "" {
		return w.fault(IllegalInstruction, lane, "%s", why)
	}
	blocks := w.block.tensorGroup(group)
	t := w.issueTensor(lane, func(t *tensorOperation) error {
		for _, b := range blocks {
			if why := k.copy(b, &source, address); why != "" {
				return t.fault(IllegalAddress, "%s", why)
			}
		}
		return nil
	})
	t.observeTile(blocks, &source, k.rows, k.chunks)
	t.issued()
	return nil
}

// copy copies in one block, and says what is wrong, or "".
func (k *tensorCopy) copy(b *block, source *tile, address uint32) string {
	top, left := int(address>>16), int(address&0xffff)
	if why := b.checkColumns(left, 4*k.chunks); why != "" {
		return why
	}
	t := b.tensor()
	for row := range k.rows {
		for i := range k.chunks {
			at := source.chunk(uint64(i), uint64(row))
			if why := b.checkChunk(at); why != "" {
				return why
			}
			data := k.unpacked((*[chunkBytes]byte)(b.shared.data[at:]))
			for _, lane := range k.lanes(row) {
				if lane += top; lane >= tensorLanes {
					return "it reaches behind the last lane of tensor memory"
				}
				for word := range 4 {
					t.columns[left+4*i+word][lane] = binary.LittleEndian.Uint32(data[4*word:])
				}
			}
		}
	}
	return ""
}

// unpacked is a chunk with a byte for each element: one of 6 bits is in the lower bits of its byte, one of 4 bits in
// bits 2 to 5, where tcgen05.mma expects it.
func (k *tensorCopy) unpacked(chunk *[chunkBytes]byte) (out [chunkBytes]byte) {
	if k.bits == 8 {
		return *chunk
	}
	out = unpackChunk(chunk, k.bits)
	for i := range out {
		if k.bits == 4 {
			out[i] <<= 2
		}
	}
	return out
}

// unpackChunk puts 16 elements of 4 or 6 bits into the lower bits of a byte each.
func unpackChunk(chunk *[chunkBytes]byte, bits int) (out [chunkBytes]byte) {
	for i := range out {
		at := i * bits
		v := uint16(chunk[at/8]) | uint16(chunk[at/8+1])<<8
		out[i] = byte(v >> (at % 8) & (1<<bits - 1))
	}
	return out
}

// shiftTensor compiles tcgen05.shift.cta_group.down [address]: in 8 columns, each lane gets what the next one has, but for
// the last one of the 32 lanes that a warp reaches. That each quarter is shifted by itself is a published measurement of
// a B200; the PTX ISA says no more than that the last row stays.
func (c *compiler) shiftTensor(o *op) {
	group := c.takeGroup()
	if !c.has("down") {
		c.fail("tcgen05.shift needs .down")
	}
	c.args(1)
	offset := c.tensorAddress(&o.a, 0)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			address := uint32(w.regs[o.a][lane]) + offset
			if err := w.useGroup(group, lane); err != nil {
				return err
			}
			if address>>16%32 != 0 {
				return w.fault(IllegalInstruction, lane, "lane %d of tensor memory is not a multiple of 32", address>>16)
			}
			blocks := w.block.tensorGroup(group)
			w.issueTensor(lane, func(t *tensorOperation) error {
				for _, b := range blocks {
					if why := b.shiftLanes(int(address>>16), int(address&0xffff)); why != "" {
						return t.fault(IllegalAddress, "%s", why)
					}
				}
				return nil
			})
		}
		return nil
	}
}

// shiftLanes shifts 32 bytes of the lanes from a first one on.
func (b *block) shiftLanes(first, column int) string {
	const columns = 8
	if why := b.checkColumns(column, columns); why != "" {
		return why
	}
	for c := range columns {
		cells := &b.tensor().columns[column+c]
		for quarter := first; quarter < tensorLanes; quarter += 32 {
			copy(cells[quarter:quarter+31], cells[quarter+1:quarter+32])
		}
	}
	return ""
}
