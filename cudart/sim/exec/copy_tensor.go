package exec

import (
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// boxAlign is what the shared address of a box is a multiple of, with a swizzle or
// without, and cornerAlign, in bytes, its first coordinate. NVIDIA does not document the
// latter: copies from or to elsewhere are an illegal instruction on Hopper.
const (
	boxAlign    = 128
	cornerAlign = 16
)

// tensorInst is a compiled copy of a box. The map is the source's or the
// destination's address.
type tensorInst struct {
	bulkInst
	rank        int
	tensor      *endpoint // the address of the map
	coordinates []int32   // registers
}

// tensorCopy compiles, for 1 to 5 dimensions,
//
//	cp.async.bulk.tensor.2d.{shared::cta,shared::cluster}.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster} [dst], [map, {c0, c1}], [mbarrier] {, ranks};
//	cp.async.bulk.tensor.2d.global.shared::cta{.tile}.bulk_group [map, {c0, c1}], [src];
func (c *compiler) tensorCopy(o *op) {
	k := &tensorInst{}
	for i, d := range []string{"1d", "2d", "3d", "4d", "5d"} {
		if c.has(d) {
			k.rank = i + 1
		}
	}
	to, from := c.takeSpace(), c.takeSpace()
	c.take("tile")
	shared := 0
	if to == ptx.Global {
		shared = 1
		k.dst = &endpoint{space: to}
		k.src = c.endpoint(shared, from)
	} else {
		k.dst = c.endpoint(shared, to)
	}
	c.tensorOperand(k, 1-shared)
	c.args(c.bulkEnd(&k.bulkInst, 2, from))
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.current.polled = 0
		for ; mask != 0; mask &= mask - 1 {
			if err := w.startTensor(k, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// tensorOperand compiles [map, {c0, c1}]. The map's address is a generic one.
func (c *compiler) tensorOperand(k *tensorInst, i int) {
	arg := c.arg(i)
	if arg.Kind != ptx.Address || len(arg.Elems) != 2 || len(arg.Elems[1].Elems) != k.rank {
		c.fail("operand %d must be the address of a tensor map with %d coordinates", i+1, k.rank)
		return
	}
	k.tensor = &endpoint{space: ptx.Generic}
	k.tensor.mem = &access{bias: uint64(arg.Offset), size: cudart.TensorMapBytes}
	c.srcOperand(&k.tensor.a, arg.Elems[0], u64)
	k.coordinates = make([]int32, k.rank)
	for d, e := range arg.Elems[1].Elems {
		c.srcOperand(&k.coordinates[d], e, s32)
	}
}

// startTensor begins the copy of one lane.
func (w *warp) startTensor(k *tensorInst, lane int) error {
	m, err := w.tensorAt(k, lane)
	if err != nil {
		return err
	}
	parts, err := w.boxParts(&m, k, lane)
	if err != nil {
		return err
	}
	bytes := m.row() * m.rows()
	if k.barrier != nil {
		return w.eachTarget(&k.bulkInst, lane, bytes, func(to uint64) (copier, error) {
			shared, err := w.writableAt(to, bytes, boxAlign, lane)
			return &boxLoad{box{tensorMap: m, parts: parts, at: to, shared: shared}}, err
		})
	}
	if err := w.checkCorner(k, lane); err != nil {
		return err
	}
	from, err := k.src.at(w, lane)
	if err != nil {
		return err
	}
	shared, err := w.rangeAt(from, bytes, boxAlign, lane)
	if err != nil {
		return err
	}
	b := &boxStore{box{tensorMap: m, parts: parts, at: from, shared: shared}}
	w.startInGroup(&transfer{warp: w, lane: lane, copier: b}, bulkGroup)
	return nil
}

// checkCorner refuses a store that begins before the tensor: to an H200 it is an illegal
// instruction. Loads may begin there.
func (w *warp) checkCorner(k *tensorInst, lane int) error {
	for d, reg := range k.coordinates {
		if c := int32(w.regs[reg][lane]); c < 0 {
			return w.fault(IllegalInstruction, lane, "coordinate %d of the box is %d, and a store cannot begin before the tensor", d, c)
		}
	}
	return nil
}

// tensorAt reads the tensor map of a copy.
func (w *warp) tensorAt(k *tensorInst, lane int) (m tensorMap, err error) {
	addr := w.regs[k.tensor.a][lane] + k.tensor.mem.bias
	p, err := w.rangeAt(addr, cudart.TensorMapBytes, cudart.TensorMapAlign, lane)
	if err != nil {
		return m, err
	}
	m, ok := decodeTensorMap(unsafe.Slice((*byte)(p), cudart.TensorMapBytes))
	if !ok {
		return m, w.fault(IllegalInstruction, lane, "there is no tensor map at address %#x", addr)
	}
	if int(m.rank) != k.rank {
		return m, w.fault(IllegalInstruction, lane, "the tensor has %d dimensions and the copy %d", m.rank, k.rank)
	}
	return m, nil
}

// box is a box of a tensor, there and in shared memory.
type box struct {
	tensorMap
	parts  []part
	at     uint64 // the shared address
	shared unsafe.Pointer
	data   []byte // row after row, while it is on its way
}

// part is what of a row of the box is copied: bytes from to below to, the first of
// which is at p.
type part struct {
	p        unsafe.Pointer
	from, to uint64
}

// storeUnit is what stores write whole: where a row of the tensor ends within so many
// bytes, what the box has for the rest of them goes to the padding behind the row. NVIDIA
// does not document it; an H200 does so.
const storeUnit = 16

// boxParts finds the rows of the box in the tensor, the second innermost
// dimension first.
func (w *warp) boxParts(m *tensorMap, k *tensorInst, lane int) ([]part, error) {
	var corner [5]int64
	for d, reg := range k.coordinates {
		corner[d] = int64(int32(w.regs[reg][lane]))
	}
	if at := corner[0] * int64(m.element); at%cornerAlign != 0 {
		return nil, w.fault(IllegalInstruction, lane, "the first coordinate, %d, is %d bytes from the beginning of a row, which is not a multiple of %d", corner[0], at, cornerAlign)
	}
	from, to := max(0, -corner[0]), min(m.box[0], m.sizes[0]-corner[0])
	parts := make([]part, m.rows())
	for i := range parts {
		at, inside := m.rowAt(corner, int64(i))
		if !inside || from >= to {
			continue
		}
		p := &parts[i]
		p.from, p.to = uint64(from)*m.element, uint64(to)*m.element
		if k.barrier == nil { // the box ends with a unit, too
			p.to = (p.to + storeUnit - 1) / storeUnit * storeUnit
		}
		var err error
		if p.p, err = w.rangeAt(at+uint64(max(0, corner[0]))*m.element, p.to-p.from, 1, lane); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// rowAt is the address of the tensor's row in which row i of the box lies, if
// there is one.
func (m *tensorMap) rowAt(corner [5]int64, i int64) (addr uint64, inside bool) {
	addr, inside = m.base, true
	for d := 1; d < int(m.rank); d++ {
		c := corner[d] + i%m.box[d]
		i /= m.box[d]
		inside = inside && c >= 0 && c < m.sizes[d]
		addr += uint64(c * m.strides[d])
	}
	return addr, inside
}

// eachUnit calls f for each 16 bytes on their way, with where they are in shared
// memory.
func (b *box) eachUnit(f func(data, shared []byte)) {
	for at := uint64(0); at < uint64(len(b.data)); at += 16 {
		skip := b.swizzled(b.at+at) - b.at
		f(b.data[at:at+16], unsafe.Slice((*byte)(unsafe.Add(b.shared, skip)), 16))
	}
}

// eachPart calls f for what of each row is copied.
func (b *box) eachPart(f func(data []byte, tensor unsafe.Pointer)) {
	for i, p := range b.parts {
		if row := uint64(i) * b.row(); p.p != nil {
			f(b.data[row+p.from:row+p.to], p.p)
		}
	}
}

// boxLoad fills a box in shared memory, with zeroes where there is no tensor.
type boxLoad struct{ box }

func (b *boxLoad) fetch(t *transfer) {
	b.data = make([]byte, b.row()*b.rows())
	b.eachPart(func(data []byte, tensor unsafe.Pointer) {
		copy(data, unsafe.Slice((*byte)(tensor), len(data)))
		t.staleData(data, tensor)
		t.forward(data, tensor, false)
	})
}

func (b *boxLoad) deliver(*transfer) {
	b.eachUnit(func(data, shared []byte) { copy(shared, data) })
}

// boxStore writes what of a box lies in the tensor, in whole units.
type boxStore struct{ box }

func (b *boxStore) fetch(t *transfer) {
	b.data = make([]byte, b.row()*b.rows())
	b.eachUnit(func(data, shared []byte) {
		copy(data, shared)
		t.warp.block.staleShared(data, unsafe.Pointer(&shared[0]))
	})
}

// deliver writes element by element with disorder, where the stores are pending at
// first.
func (b *boxStore) deliver(t *transfer) {
	b.eachPart(func(data []byte, tensor unsafe.Pointer) {
		if t.warp.stores == nil {
			copy(unsafe.Slice((*byte)(tensor), len(data)), data)
			return
		}
		for at := uint64(0); at < uint64(len(data)); at += b.element {
			v := readPlain(unsafe.Pointer(&data[at]), b.element)
			t.warp.stores.push(unsafe.Add(tensor, at), b.element, word{v}, t.warp.thread(t.lane), true)
		}
	})
}
