package exec

import "gpurun/cudart/sim/tensorcore"

func (w *warp) multiplyFloats(m *mmaInst, places *places, out []lanes) {
	s, model := &w.grid.scratch, m.model(w.grid.cfg.TensorCores)
	whole := !m.halfC && !m.halfD && !model.Widens(m.fragA.format)
	p := floatProduct{
		model: model, acc: m.acc, places: places, scratch: s,
		tiles: whole && places == nil && w.grid.addsTiles(model),
	}
	p.takeA(m.fragA.floats(w, m.a, &s.floats[0]))
	p.takeB(m.fragB.floats(w, m.b, &s.floats[1]))
	if p.tiles {
		for e := range out {
			out[e] = w.regs[m.c[e]]
		}
		for e := 0; e < len(out); e += 2 {
			p.addTile(&out[e], &out[e+1], e)
		}
		return
	}
	for e := range m.acc.count() {
		first, left := m.acc.origin(e)
		for lane := range 32 {
			row, column := m.acc.from(first, left, lane)
			sum := p.element(m, row, column, w.startOf(m, e, lane))
			if m.halfD {
				out[e/2][lane] |= sum << (e % 2 * 16)
			} else {
				out[e][lane] = sum
			}
		}
	}
}

// startOf is the accumulator with a number that a lane holds.
func (w *warp) startOf(m *mmaInst, element, lane int) uint64 {
	if m.halfC {
		return w.regs[m.c[element/2]][lane] >> (element % 2 * 16) & 0xffff
	}
	return w.regs[m.c[element]][lane]
}

// floatProduct is the matrices of a product of floats, and how to sum.
type floatProduct struct {
	model tensorcore.Model
	acc   accumulators
	a, b  matrix[tensorcore.Element]
	padding
	*places // of a sparse A
	scratch *matrixScratch
	tiles   bool // sums are made by addTile
}

// factors are what is multiplied for an element of D: those of A and those of B.
func (p *floatProduct) factors(row, column int) (x, y []tensorcore.Element) {
	n := p.products(row, column, p.a.k)
	return p.a.row(row)[:n], pick(p.places, row, p.b.row(column), &p.scratch.pickedFloats)[:n]
}

// element is one of D. wmma may begin with a single and end with a half, or the other way
// round: the sum is a single then.
func (p *floatProduct) element(m *mmaInst, row, column int, start uint64) uint64 {
	x, y := p.factors(row, column)
	widened := p.model.Widens(m.fragA.format)
	switch {
	case m.halfC && m.halfD && widened:
		return uint64(p.model.DotHalfWidened(uint16(start), x, y))
	case m.halfC && m.halfD:
		return uint64(p.model.DotHalf(uint16(start), x, y))
	case widened:
		return uint64(p.model.DotWidened(uint32(start), x, y))
	case m.halfC:
		start = f32bits(float32(binary16.decode(start)))
	}
	sum := uint64(p.model.Dot(uint32(start), x, y))
	if m.halfD {
		sum = binary16.encode(float64(f32(sum)), toNearestEven)
	}
	return sum
}

// model is how the instruction sums on tensor cores that sum 16-bit floats so.
func (m *mmaInst) model(cores tensorcore.Model) tensorcore.Model {
	if m.wmma {
		return cores.Wmma(m.fragA.format)
	}
	return cores.Mma(m.fragA.format)
}
