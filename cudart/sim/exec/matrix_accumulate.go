package exec

import "gpurun/cudart/sim/tensorcore"

// What wgmma adds to the accumulators of a warp, which has 16 rows of the product.

func (w *warp) addFloats(p *multiplication, a, b matrix[tensorcore.Element]) {
	if p.negate[0] != p.negate[1] {
		for i, x := range a.elements {
			a.elements[i] = x.Negated()
		}
	}
	product := &floatProduct{
		model: w.grid.cfg.TensorCores.Wgmma(p.fragA.format), a: a, b: b, places: p.places, picked: &w.grid.scratch.pickedFloats,
	}
	product.findPadding()
	for j, slot := range p.d {
		if p.halfD {
			product.addHalfs(&w.regs[slot], p, j)
		} else {
			product.addSingles(&w.regs[slot], p, j)
		}
	}
}

// addSingles adds to accumulators of which each is a single.
func (product *floatProduct) addSingles(d *lanes, p *multiplication, element int) {
	first, left := p.acc.origin(element)
	for lane := range d {
		row, column := first+lane/4, left+lane%4*2
		start := uint32(0)
		if p.accumulate {
			start = uint32(d[lane])
		}
		x, y := product.factors(row, column)
		d[lane] = uint64(product.model.Dot(start, x, y))
	}
}

// addHalfs adds to registers of two halfs that are neighbours in a row.
func (product *floatProduct) addHalfs(d *lanes, p *multiplication, register int) {
	a, b := product.a, product.b
	first, left := p.acc.origin(2 * register)
	for lane := range d {
		row, column := first+lane/4, left+lane%4*2
		start := uint32(0)
		if p.accumulate {
			start = uint32(d[lane])
		}
		x := a.row(row)
		low := product.model.DotHalf(uint16(start), x, pick(p.places, row, b.row(column), product.picked))
		high := product.model.DotHalf(uint16(start>>16), x, pick(p.places, row, b.row(column+1), product.picked))
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
