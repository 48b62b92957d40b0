package exec

// maxTurn bounds the random turns of warps, in instructions. Short ones mix
// the warps well.
const maxTurn = 128

// disorderTurn begins a turn in disorder: stores become visible, and blocks take
// another order.
func (g *Grid) disorderTurn() {
	r := g.cfg.Disorder
	if r == nil {
		return
	}
	r.Shuffle(len(g.blocks), func(i, j int) { g.blocks[i], g.blocks[j] = g.blocks[j], g.blocks[i] })
	for _, b := range g.blocks {
		g.progress = b.stores.drainSome() || g.progress
	}
	g.progress = g.drainGPUScope() || g.progress
	if len(g.blocks) == 0 {
		return
	}
	left := g.retired[:0]
	for _, s := range g.retired {
		g.progress = s.drainSome() || g.progress
		if !s.empty() {
			left = append(left, s)
		}
	}
	g.retired = left
}

// retire keeps the stores of a block that has exited until they are visible.
func (g *Grid) retire(b *block) {
	if !b.stores.empty() {
		g.retired = append(g.retired, b.stores)
	}
}

// maxEndDelayLog2 is the logarithm of how many turns a grid may take to end whose blocks
// have exited.
const maxEndDelayLog2 = 10

// delaysEnd lets time pass in which stores of blocks that have exited are not visible yet, and
// others go on that have not waited for them.
func (g *Grid) delaysEnd() bool {
	g.endDelay--
	return g.endDelay >= 0 && g.hasPendingStores()
}

// flushAll makes all stores of a grid visible that has come to its end.
func (g *Grid) flushAll() {
	for _, s := range g.retired {
		s.drainAll()
	}
	g.retired = nil
	g.gpuScope.drain(func(*pendingStore) bool { return true }, g.write)
}

// hasPendingStores reports whether stores of the grid are not visible yet.
func (g *Grid) hasPendingStores() bool {
	for _, b := range g.blocks {
		if !b.stores.empty() {
			return true
		}
	}
	return len(g.retired) > 0 || g.gpuScope.count > 0
}

// turnLength is how many instructions the next turn of a warp may last. In
// disorder a warp keeps a pace for a while, so that some fall far behind others.
func (w *warp) turnLength(quantum int) int {
	const oneIn = 256
	r := w.grid.cfg.Disorder
	if r == nil {
		return quantum
	}
	if w.pace == 0 || r.IntN(oneIn) == 0 {
		w.pace = maxTurn >> r.IntN(8)
	}
	return min(quantum, 1+r.IntN(w.pace))
}

// shuffle gives the warps of a block another order.
func (b *block) shuffle() {
	if r := b.grid.cfg.Disorder; r != nil {
		r.Shuffle(len(b.warps), func(i, j int) { b.warps[i], b.warps[j] = b.warps[j], b.warps[i] })
	}
}
