package exec

import (
	"strings"

	"gpurun/cudart/sim/ptx"
)

// tcgen05.ld and st are asynchronous. Without disorder they are performed at once: GPUs perform those of a warp in order, and
// an instruction that reads a register waits for the load. PTX promises neither, and with disorder the executor uses that
// freedom. A load reads tensor memory at a random time until the warp executes tcgen05.wait::ld, and only then its registers
// have the values: before, they hold what is no number. A store writes tensor memory at a random time until tcgen05.wait::st.

// tensorShape is how the lanes of a warp hold what tcgen05.ld and st move.
type tensorShape struct {
	lanes   int                                     // of tensor memory: 32 or 16
	per     int                                     // registers of .x1
	columns int                                     // of .x1
	place   func(lane, register int) (row, col int) // within tensor memory, from the address on
}

// tensorShapes are the shapes by name, PTX ISA section 9.7.16.2.3.
var tensorShapes = map[string]tensorShape{
	"32x32b": {32, 1, 1, func(lane, r int) (int, int) { return lane, r }},
	"16x64b": {16, 1, 2, func(lane, r int) (int, int) { return lane/4 + lane%2*8, lane/2%2 + 2*r }},
	"16x128b": {16, 2, 4, func(lane, r int) (int, int) {
		return lane/4 + r%2*8, lane%4 + r/2*4
	}},
	"16x256b": {16, 4, 8, func(lane, r int) (int, int) {
		return lane/4 + r/2%2*8, lane%4*2 + r%2 + r/4*8
	}},
	"16x32bx2": {16, 1, 1, func(lane, r int) (int, int) { return lane % 16, r }},
}

// tensorMove is a compiled tcgen05.ld or st.
type tensorMove struct {
	tensorShape
	registers []int32
	address   int32
	offset    uint32
	half      int  // of .16x32bx2: columns between those of lanes 0 to 15 and of the others
	packed    bool // a register holds the lower halves of two columns
}

// span is how many columns the instruction accesses, from the address on.
func (m *tensorMove) span() int {
	n := len(m.registers) / m.per * m.columns
	if m.packed {
		n *= 2
	}
	return n + m.half
}

// at is the row and the column of a register of a lane: of a packed one, the first of two columns.
func (m *tensorMove) at(lane, register int) (row, col int) {
	row, col = m.place(lane, register)
	if m.packed {
		col *= 2
	}
	if lane >= 16 {
		col += m.half
	}
	return row, col
}

// takeTensorMove takes the shape, the number of repetitions, and how halves are packed.
func (c *compiler) takeTensorMove(packs string) *tensorMove {
	m := &tensorMove{}
	name := c.take("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2")
	times := c.take("x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128")
	m.tensorShape = tensorShapes[name]
	m.packed = c.has(packs)
	if c.takeType() != b32 || name == "" || times == "" {
		c.fail("tcgen05.ld and st need a shape, a number such as .x1, and .b32")
		return m
	}
	n := 1
	for _, x := range []string{"x2", "x4", "x8", "x16", "x32", "x64", "x128"} {
		if n *= 2; x == times {
			break
		}
	}
	if times == "x1" {
		n = 1
	}
	if n *= m.per; n > 128 {
		c.fail(".%s.%s would have %d registers, and 128 are the most", name, times, n)
		n = 1
	}
	m.registers = make([]int32, n)
	if name == "16x32bx2" {
		split := c.arg(len(c.in.Args) - 1)
		if split.Kind != ptx.Immediate || len(c.in.Args) != 3 {
			c.fail("the distance between the halves must be a literal, the last operand")
		}
		if m.half = int(split.Bits); split.Bits > tensorColumns {
			c.fail("the distance between the halves must be 0 to %d columns", tensorColumns)
		}
	} else {
		c.args(2)
	}
	return m
}

// loadTensor compiles tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32 {r0, ...}, [address]{, split}.
func (c *compiler) loadTensor(o *op) {
	m := c.takeTensorMove("pack::16b")
	m.offset = c.tensorAddress(&m.address, 1)
	m.registers = c.destinations(0, len(m.registers), b32)
	c.tensorLoads = append(c.tensorLoads, tensorLoad{c.index, m.registers})
	c.alignedRun(o, func(w *warp, _ *op) error { return w.startTensorMove(m, nil) })
}

// storeTensor compiles tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32 [address]{, split}, {r0, ...}.
func (c *compiler) storeTensor(o *op) {
	m := c.takeTensorMoveOfStore()
	m.offset = c.tensorAddress(&m.address, 0)
	m.registers = c.sources(len(c.in.Args)-1, len(m.registers), b32)
	c.alignedRun(o, func(w *warp, _ *op) error {
		values := make([]lanes, len(m.registers))
		for i, slot := range m.registers {
			values[i] = w.regs[slot]
		}
		return w.startTensorMove(m, values)
	})
}

// takeTensorMoveOfStore is takeTensorMove for a store, whose split is its second operand.
func (c *compiler) takeTensorMoveOfStore() *tensorMove {
	in := c.in
	if len(in.Args) == 3 {
		swapped := *in
		swapped.Args = []ptx.Operand{in.Args[2], in.Args[0], in.Args[1]}
		c.in = &swapped
		defer func() { c.in = in }()
	}
	return c.takeTensorMove("unpack::16b")
}

// pendingTensorMove is a load or a store of a warp that it has not waited for.
type pendingTensorMove struct {
	*tensorMove
	address uint32
	values  []lanes // of a store, and of a load that has read tensor memory
	done    bool    // a load has read tensor memory, a store has written it
	store   bool
	inst    *ptx.Inst
}

// startTensorMove issues a load, or a store of values.
func (w *warp) startTensorMove(m *tensorMove, values []lanes) error {
	address := uint32(w.regs[m.address][0])
	if w.regs[m.address] != *broadcast(uint64(address)) {
		return w.fault(IllegalInstruction, 0, "the lanes of the warp give different addresses in tensor memory")
	}
	address += m.offset
	quarter := w.index % 4 * 32
	if address>>16 < 32 { // DeepGEMM, tested on GPUs, leaves the quarter out
		address += uint32(quarter) << 16
	}
	lane, first := int(address>>16), int(address&0xffff)
	if lane < quarter || lane+m.lanes > quarter+32 || lane%16 != 0 {
		return w.fault(IllegalAddress, 0,
			"the access begins at lane %d of tensor memory, and warp %d reaches lanes %d to %d: add 32*(warp%%4)<<16 to the address",
			lane, w.index, quarter, quarter+31)
	}
	if why := w.block.checkColumns(first, m.span()); why != "" {
		return w.fault(IllegalAddress, 0, "%s", why)
	}
	p := &pendingTensorMove{
		tensorMove: m, address: address, values: values, store: values != nil, inst: w.grid.kernel.code[w.current.pc].inst,
	}
	r := w.grid.cfg.Disorder
	if r == nil || r.IntN(2) == 0 {
		p.access(w.block.tensor())
	}
	for i, slot := range m.registers {
		switch {
		case p.store:
		case r == nil:
			w.regs[slot] = p.values[i]
		default:
			w.regs[slot] = *broadcast(undefinedTensorWord)
		}
	}
	if r != nil {
		w.tensorMoves = append(w.tensorMoves, p)
	}
	return nil
}

// access reads tensor memory, or writes it.
func (p *pendingTensorMove) access(t *tensorMemory) {
	if p.done {
		return
	}
	p.done = true
	if !p.store {
		p.values = make([]lanes, len(p.registers))
	}
	top, left := int(p.address>>16), int(p.address&0xffff)
	for r := range p.values {
		for lane := range 32 {
			row, col := p.at(lane, r)
			cell, v := &t.columns[left+col][top+row], &p.values[r][lane]
			switch {
			case p.store && p.packed:
				*cell = uint32(*v) & 0xffff
				t.columns[left+col+1][top+row] = uint32(*v) >> 16 & 0xffff
			case p.store:
				*cell = uint32(*v)
			case p.packed:
				*v = uint64(*cell&0xffff | t.columns[left+col+1][top+row]<<16)
			default:
				*v = uint64(*cell)
			}
		}
	}
}

// waitTensor compiles tcgen05.wait::ld.sync.aligned and tcgen05.wait::st.sync.aligned.
func (c *compiler) waitTensor(o *op, loads bool) {
	c.args(0)
	if loads {
		c.tensorWaits = append(c.tensorWaits, c.index)
	}
	c.alignedRun(o, func(w *warp, _ *op) error { return w.finishTensorMoves(!loads) })
}

// finishTensorMoves ends the loads or the stores of a warp.
func (w *warp) finishTensorMoves(stores bool) error {
	left := w.tensorMoves[:0]
	for _, p := range w.tensorMoves {
		if p.store != stores {
			left = append(left, p)
			continue
		}
		if why := w.block.checkColumns(int(p.address&0xffff), p.span()); why != "" {
			return w.faultAt(p.inst, IllegalAddress, 0, "%s", strings.Replace(why, "wait for the tcgen05.commit of operations "+
				"that use them", "execute tcgen05.wait", 1))
		}
		p.access(w.block.tensor())
		for i, slot := range p.registers {
			if !stores {
				w.dropAffine(slot)
				w.regs[slot] = p.values[i]
			}
		}
	}
	clear(w.tensorMoves[len(left):])
	w.tensorMoves = left
	return nil
}

// tensorLoad is the op of a tcgen05.ld and its registers, for the register allocation.
type tensorLoad struct {
	at        int
	registers []int32
}

// keepTensorLoads makes the waits of tcgen05.ld read its registers, so that the register allocation reuses none before. A
// load waits for the next tcgen05.wait::ld of its basic block, or where that has none for any.
func (c *compiler) keepTensorLoads() {
	if len(c.tensorLoads) == 0 {
		return
	}
	leader, _ := c.leaders()
	for i := range c.tensorLoads {
		load := &c.tensorLoads[i]
		waits := c.tensorWaits
		for _, at := range c.tensorWaits {
			if at > load.at && !anyOf(leader[load.at+1:at+1]) {
				waits = []int{at}
				break
			}
		}
		for _, at := range waits {
			for j := range load.registers {
				slot := load.registers[j]
				c.refs = append(c.refs, ref{at, &slot, false})
			}
		}
	}
	c.sortRefs()
}

func anyOf(all []bool) bool {
	for _, x := range all {
		if x {
			return true
		}
	}
	return false
}
