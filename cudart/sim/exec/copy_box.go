package exec

import "unsafe"

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
	addr     uint64 // of p
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
	if m.group > 1 && corner[0]%m.group != 0 {
		return nil, w.fault(IllegalInstruction, lane, "the first coordinate, %d, is not a multiple of %d", corner[0], m.group)
	}
	if at := corner[0] / m.group * int64(m.unpacked); at%cornerAlign != 0 {
		return nil, w.fault(IllegalInstruction, lane,
			"the first coordinate, %d, is %d bytes from the beginning of a row, which is not a multiple of %d", corner[0], at,
			cornerAlign)
	}
	from, to := max(0, -corner[0]), min(m.box[0], m.sizes[0]-corner[0])
	parts := make([]part, m.rows())
	for i := range parts {
		at, inside := m.rowAt(corner, int64(i))
		if !inside || from >= to {
			continue
		}
		p := &parts[i]
		p.from, p.to = uint64(from/m.group)*m.unpacked, uint64(to/m.group)*m.unpacked
		if k.barrier == nil { // the box ends with a unit, too
			p.to = (p.to + storeUnit - 1) / storeUnit * storeUnit
		}
		var err error
		p.addr = at + uint64(max(0, corner[0])/m.group)*m.packed
		if p.p, err = w.rangeAt(p.addr, m.inTensor(p.to-p.from), 1, lane); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// inTensor is the bytes in the tensor of a part that has so many in shared memory.
func (m *tensorMap) inTensor(bytes uint64) uint64 { return bytes / m.unpacked * m.packed }

// rowAt is the address of the tensor's row in which row i of the box lies, if
// there is one.
func (m *tensorMap) rowAt(corner [5]int64, i int64) (addr uint64, inside bool) {
	addr, inside = m.base, true
	for d := 1; d < int(m.rank); d++ {
		c := corner[d] + i%m.box[d]*m.steps[d]
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

// boxLoad fills a box in shared memory, with zeroes or NaN where there is no tensor.
type boxLoad struct{ box }

func (b *boxLoad) fetch(t *transfer) {
	b.data = make([]byte, b.row()*b.rows())
	b.fill()
	b.eachPart(func(data []byte, tensor unsafe.Pointer) {
		if b.padded() {
			b.fetchPadded(t, data, tensor)
			return
		}
		copy(data, unsafe.Slice((*byte)(tensor), len(data)))
		t.staleData(data, tensor)
		t.forward(data, tensor, false)
		b.round(data)
	})
}

// fetchPadded copies groups that take more bytes in shared memory than in the tensor. What is behind them stays 0, which
// is not documented.
func (b *boxLoad) fetchPadded(t *transfer, data []byte, tensor unsafe.Pointer) {
	for at := uint64(0); at < uint64(len(data)); at += b.unpacked {
		group := data[at:][:b.packed]
		copy(group, unsafe.Slice((*byte)(tensor), b.packed))
		t.staleData(group, tensor)
		t.forward(group, tensor, false)
		tensor = unsafe.Add(tensor, b.packed)
	}
}

func (b *boxLoad) deliver(*transfer) {
	b.eachUnit(func(data, shared []byte) { copy(shared, data) })
}

// boxStore writes what of a box lies in the tensor, in whole units, or reduces it.
type boxStore struct {
	box
	reduction *bulkReduction // nil of a store
}

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
		if b.reduction != nil {
			b.reduction.apply(t.warp, tensor, data)
			return
		}
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
