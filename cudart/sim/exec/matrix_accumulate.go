package exec

import "gpurun/cudart/sim/tensorcore"

// What wgmma adds to the accumulators of a warp, which has 16 rows of the product.

// newFloatProduct is p's, without the matrices.
func newFloatProduct(g *Grid, p *multiplication) *floatProduct {
	model := g.cfg.TensorCores.Wgmma(p.fragA.format)
	return &floatProduct{
		model: model, acc: p.acc, scratch: &g.scratch, tiles: !p.halfD && p.sparse == nil && g.addsTiles(model),
	}
}

// addFloats adds the products of A and of p's B.
func (p *floatProduct) addFloats(w *warp, m *multiplication, a matrix[tensorcore.Element]) {
	if m.negate[0] != m.negate[1] {
		for i, x := range a.elements {
			a.elements[i] = x.Negated()
		}
	}
	p.places = m.places
	p.takeA(a)
	for j, slot := range m.d {
		d := &w.regs[slot]
		switch {
		case m.halfD:
			p.addHalfs(d, m, j)
		case !p.tiles:
			p.addSingles(d, m, j)
		case j%2 == 0:
			odd := &w.regs[m.d[j+1]]
			if !m.accumulate {
				*d, *odd = lanes{}, lanes{}
			}
			p.addTile(d, odd, j)
		}
	}
}

// addSingles adds to accumulators of which each is a single.
func (p *floatProduct) addSingles(d *lanes, m *multiplication, element int) {
	first, left := p.acc.origin(element)
	for lane, start := range d {
		if !m.accumulate {
			start = 0
		}
		d[lane] = p.single(first, left, lane, start)
	}
}

// addHalfs adds to registers of two halfs that are neighbors in a row.
func (p *floatProduct) addHalfs(d *lanes, m *multiplication, register int) {
	a, b, picked := p.a, p.b, &p.scratch.pickedFloats
	first, left := p.acc.origin(2 * register)
	for lane := range d {
		row, column := first+lane/4, left+lane%4*2
		start := uint32(0)
		if m.accumulate {
			start = uint32(d[lane])
		}
		x := a.row(row)
		low := p.model.DotHalf(uint16(start), x, pick(p.places, row, b.row(column), picked))
		high := p.model.DotHalf(uint16(start>>16), x, pick(p.places, row, b.row(column+1), picked))
		d[lane] = uint64(low) | uint64(high)<<16
	}
}

func (w *warp) addIntegers(p *multiplication, a, b matrix[int32]) {
	picked := &w.grid.scratch.pickedIntegers
	w.addWhole(p, func(row, column int, start uint64) uint64 {
		return addInteger(start, dotIntegers(a.row(row), pick(p.places, row, b.row(column), picked)), p.saturate)
	})
}

func (w *warp) addBits(p *multiplication, a, b matrix[uint64]) {
	w.addWhole(p, func(row, column int, start uint64) uint64 {
		return uint64(uint32(start) + dotBits(a.row(row), b.row(column), true))
	})
}

// addWhole adds to accumulators of 32 bits.
func (w *warp) addWhole(p *multiplication, add func(row, column int, start uint64) uint64) {
	for j, slot := range p.d {
		first, left := p.acc.origin(j)
		d := &w.regs[slot]
		for lane, start := range d {
			if !p.accumulate {
				start = 0
			}
			d[lane] = add(first+lane/4, left+lane%4*2, start)
		}
	}
}
