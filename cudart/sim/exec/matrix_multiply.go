package exec

import "gpurun/cudart/sim/tensorcore"

// multiplyNext does the oldest multiplication of a group.
func (b *block) multiplyNext(g *warpgroup) error {
	p := g.queue[0]
	g.queue = g.queue[1:]
	g.done++
	b.grid.progress = true
	s := &b.grid.scratch
	switch p.fragA.class {
	case integerElement:
		return multiplyGroup(g, p, &s.integers,
			multiplicands[int32]{p.fragA.integers, decodeBytes(p.fragA), decodeBytes(p.fragB), nil, (*warp).addIntegers})
	case bitElement:
		return multiplyGroup(g, p, &s.words, multiplicands[uint64]{p.fragA.words, decodeWords, decodeWords, nil, (*warp).addBits})
	}
	product := newFloatProduct(b.grid, p)
	return multiplyGroup(g, p, &s.floats, multiplicands[tensorcore.Element]{
		p.fragA.floats, decodeFloats(p.fragA), decodeFloats(p.fragB), product.takeB,
		func(w *warp, p *multiplication, a, _ matrix[tensorcore.Element]) { product.addFloats(w, p, a) },
	})
}

// multiplicands says how elements are read, and how the products of a warp are added to its accumulators.
type multiplicands[T any] struct {
	registers        func(w *warp, slots []int32, to *[]T) matrix[T]
	decodeA, decodeB func(chunk []byte, to []T)
	takeB            func(b matrix[T])                                // before the first add; nil: nothing is done
	add              func(w *warp, p *multiplication, a, b matrix[T]) // of 16 rows
}

func multiplyGroup[T any](g *warpgroup, p *multiplication, scratch *[2][]T, t multiplicands[T]) error {
	k, kOfB := elementsOfK(p.fragA), elementsOfK(p.fragB)
	b := matrix[T]{kOfB, room(&scratch[1], p.columns*kOfB)}
	if err := loadOperand(g, p, p.bDesc, 1, b, t.decodeB); err != nil {
		return err
	}
	if t.takeB != nil {
		t.takeB(b)
	}
	const rows = 16 // of a warp
	all := matrix[T]{k, room(&scratch[0], 4*rows*k)}
	if p.a == nil {
		if err := loadOperand(g, p, p.aDesc, 0, all, t.decodeA); err != nil {
			return err
		}
	}
	for i, w := range g.warps {
		if err := w.checkFenced(p); err != nil {
			return err
		}
		a := matrix[T]{k, all.elements[i*rows*k:][:rows*k]}
		if p.a != nil {
			a = t.registers(w, p.a, &scratch[0])
		}
		if err := p.findPlaces(w, i); err != nil {
			return err
		}
		t.add(w, p, a, b)
		for _, slot := range p.d {
			*w.fencedAt(slot) = w.regs[slot]
		}
	}
	return nil
}

// findPlaces decodes the metadata of a warp of the group.
func (p *multiplication) findPlaces(w *warp, number int) error {
	if p.sparse == nil {
		return nil
	}
	var why string
	var lane int
	if p.places, why, lane = p.sparse.find(&p.metadata[number]); why != "" {
		return w.faultAt(p.inst, IllegalInstruction, lane, "%s", why)
	}
	return nil
}

// loadOperand reads a matrix from shared memory: 0 is A, 1 is B.
func loadOperand[T any](g *warpgroup, p *multiplication, descriptor uint64, number int, to matrix[T],
	decode func(chunk []byte, to []T),
) error {
	w := g.warps[0]
	t, why := newTile(descriptor, p.mnMajor[number])
	if why != "" {
		return w.faultAt(p.inst, IllegalInstruction, 0, "matrix %c: %s", "AB"[number], why)
	}
	if why := loadTile(&t, w.block, to, chunkBytes*elementsOfK(p.fragA)/rowOfK, decode); why != "" {
		return w.faultAt(p.inst, IllegalAddress, 0, "matrix %c: %s", "AB"[number], why)
	}
	return nil
}
