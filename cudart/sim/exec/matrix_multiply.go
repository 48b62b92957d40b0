package exec

import "gpurun/cudart/sim/tensorcore"

// multiplyNext does the oldest multiplication of a group.
func (b *block) multiplyNext(g *warpgroup) error {
	p := g.queue[0]
	g.queue = g.queue[1:]
	g.done++
	b.grid.progress = true
	columns := g.columns[:p.columns]
	if err := g.loadTile(p, p.bDesc, 1, columns); err != nil {
		return err
	}
	if p.a == nil {
		if err := g.loadTile(p, p.aDesc, 0, g.rows[:]); err != nil {
			return err
		}
	}
	for i, w := range g.warps {
		if err := w.checkFenced(p); err != nil {
			return err
		}
		rows := g.rows[16*i:][:16]
		if p.a != nil {
			w.fragmentA(p.format, p.a, rows)
		}
		negate(rows, p.negate[0])
		w.multiplyRows(p, rows, columns)
	}
	return nil
}

// loadTile reads a matrix from shared memory: 0 is A, 1 is B.
func (g *warpgroup) loadTile(p *multiplication, descriptor uint64, matrix int, rows [][16]tensorcore.Element) error {
	w := g.warps[0]
	t, why := newTile(descriptor, p.mnMajor[matrix])
	if why != "" {
		return w.faultAt(p.inst, IllegalInstruction, 0, "matrix %c: %s", "AB"[matrix], why)
	}
	if why := t.load(p.format, w.block, rows); why != "" {
		return w.faultAt(p.inst, IllegalAddress, 0, "matrix %c: %s", "AB"[matrix], why)
	}
	if matrix == 1 {
		negate(rows, p.negate[1])
	}
	return nil
}

func negate(rows [][16]tensorcore.Element, yes bool) {
	if !yes {
		return
	}
	for i := range rows {
		for k, x := range rows[i] {
			rows[i][k] = x.Negated()
		}
	}
}

// multiplyRows computes a warp's 16 rows. The fragment of the accumulators is that
// of "Register Fragments for wgmma.mma_async.m64nNk16".
func (w *warp) multiplyRows(p *multiplication, rows, columns [][16]tensorcore.Element) {
	cores := w.grid.cfg.TensorCores
	padding := findPadding(rows, columns)
	for j, slot := range p.d {
		d := &w.regs[slot]
		for lane := range d {
			row, column := lane/4+8*(j/2%2), 8*(j/4)+lane%4*2+j%2
			start := uint32(0)
			if p.accumulate {
				start = uint32(d[lane])
			}
			n := padding.products(row, column, len(rows[row]))
			d[lane] = uint64(cores.Dot(start, rows[row][:n], columns[column][:n]))
		}
		*w.fencedAt(slot) = *d
	}
}
