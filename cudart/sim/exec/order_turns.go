package exec

// maxTurn bounds the random turns of warps, in instructions. Short ones interleave the warps well.
const maxTurn = 128

// disorderTurn begins a grid's turn: where turns are random, the blocks are put in random order, and in disorder some
// stores reach memory.
func (g *Grid) disorderTurn() {
	if r := g.turns; r != nil {
		r.Shuffle(len(g.blocks), func(i, j int) { g.blocks[i], g.blocks[j] = g.blocks[j], g.blocks[i] })
	}
	if g.cfg.Disorder == nil {
		return
	}
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

// maxEndDelayLog2 is the base-2 logarithm of the most turns for which a grid with pending stores stays
// after its blocks have exited.
const maxEndDelayLog2 = 10

// delaysEnd reports whether a grid whose blocks have exited stays for another turn, with stores that
// are not visible yet, so that work that should have waited for it is seen to fail.
func (g *Grid) delaysEnd() bool {
	g.endDelay--
	return g.endDelay >= 0 && g.hasPendingStores()
}

// flushAll lets all stores of a grid that ends reach memory.
func (g *Grid) flushAll() {
	for _, s := range g.retired {
		s.drainAll()
	}
	g.retired = nil
	g.gpuScope.drain(func(*pendingStore) bool { return true }, g.write)
}

// hasPendingStores reports whether stores of the grid have not reached memory.
func (g *Grid) hasPendingStores() bool {
	for _, b := range g.blocks {
		if !b.stores.empty() {
			return true
		}
	}
	return len(g.retired) > 0 || g.gpuScope.count > 0
}

// turnLength is the most instructions that the next turn of a warp may execute. Where turns are random, a warp
// keeps its pace for many turns, so that some warps fall far behind others.
func (w *warp) turnLength(quantum int) int {
	const oneIn = 256
	r := w.grid.turns
	if r == nil {
		return quantum
	}
	if w.pace == 0 || r.IntN(oneIn) == 0 {
		w.pace = maxTurn >> r.IntN(8)
	}
	return min(quantum, 1+r.IntN(w.pace))
}

// shuffle puts the warps of a block in random order, where turns are random.
func (b *block) shuffle() {
	if r := b.grid.turns; r != nil {
		r.Shuffle(len(b.warps), func(i, j int) { b.warps[i], b.warps[j] = b.warps[j], b.warps[i] })
	}
}
