package exec

import "errors"

// Warp is a resident warp of a grid whose caller chooses which warp has a turn. Such a grid has no turns of its own:
// the caller takes its warps with [Grid.TakeWarps], and does not call [Grid.Turn].
type Warp struct{ w *warp }

// WarpState is what a turn of a warp has come to.
type WarpState uint8

// The states of a warp.
const (
	WarpRuns   WarpState = iota // it can go on
	WarpPolls                   // it polls, and has seen nothing new
	WarpWaits                   // it waits at a barrier; [Grid.TakeWoken] tells when it can go on
	WarpExited                  // it has no turn again
)

// TakeWarps returns the warps of the blocks that have become resident since the last call, in the order of their numbers.
func (g *Grid) TakeWarps() []Warp {
	g.chosen = true
	var all []Warp
	for _, b := range g.blocks {
		if b.started {
			continue
		}
		b.start()
		for _, w := range b.warps {
			all = append(all, Warp{w})
		}
	}
	return all
}

// TakeWoken returns the numbers of the blocks of which a barrier let warps go on since the last call. It is valid until
// the next turn. A block may be in it more than once.
func (g *Grid) TakeWoken() []int {
	woken := g.woken
	g.woken = g.woken[:0]
	return woken
}

// Ended reports whether all blocks have exited.
func (g *Grid) Ended() bool { return len(g.blocks) == 0 && g.next == g.clusterCount }

// Blocks is how many blocks the grid has, and Exited how many of them have exited.
func (g *Grid) Blocks() (blocks, exited int) {
	return g.clusterCount * g.clusterBlocks, g.next*g.clusterBlocks - len(g.blocks)
}

// Block is the number of the warp's block, and Index its own within that.
func (t Warp) Block() int { return t.w.block.index }

// Index is the number of the warp within its block.
func (t Warp) Index() int { return t.w.index }

// CanGoOn reports whether some lanes do not wait at a barrier.
func (t Warp) CanGoOn() bool {
	for i := range t.w.paths[:t.w.others] {
		if s := t.w.paths[i].state; s == runnable || s == spinning {
			return true
		}
	}
	return false
}

// Changed reports whether a word that a warp in state WarpPolls watches has changed. Where the words are not known,
// known is false.
func (t Warp) Changed() (changed, known bool) {
	w := t.w
	if !w.watch.parked {
		return false, false
	}
	for i := range w.paths[:w.others] {
		if w.paths[i].state == runnable { // released from a barrier
			return true, true
		}
	}
	return w.watch.polled.changed(), true
}

// syncTurn is the limit of a turn that ends before a strong access.
type syncTurn struct {
	limited bool
	left    int // strong accesses until the end
	made    int
	begun   uint64     // Stats.WarpInstructions when the turn began
	first   bool       // the first strong access was the first instruction
	last    syncAccess // that the turn has made
	next    syncAccess // in front of which it has ended
}

// syncAccess is what tells whether a strong access is the same again.
type syncAccess struct {
	pc        int32 // -1: none
	reads     bool
	lanes     uint32
	addresses lanes
}

// errBeforeSync ends a turn in front of a strong access. It never leaves a turn.
var errBeforeSync = errors.New("the turn ends here")

// Turn lets the warp execute at most quantum instructions, and, where accesses is not negative, at most so many strong
// accesses, or accesses of any kind with [Config.EachAccess]: it ends in front of the next one. It returns how many of both the warp has executed. An error, which is a
// *Fault, ends the grid.
func (t Warp) Turn(quantum, accesses int) (state WarpState, instructions, strong int, err error) {
	w, b := t.w, t.w.block
	g := b.grid
	g.now = g.cfg.Clock.Nanoseconds()
	g.sync.limited, g.sync.left, g.sync.made = accesses >= 0, accesses, 0
	g.sync.next.pc = -1
	b.performDue()
	if err := b.multiplySome(3); err != nil {
		return WarpExited, 0, 0, err
	}
	for _, b := range b.cluster.blocks { // one whose warps all wait has no turn
		if err := b.performTensor(); err != nil {
			return WarpExited, 0, 0, err
		}
	}
	before := g.stats.WarpInstructions
	g.sync.begun, g.sync.first = before, false
	w.watch.parked = false
	end, err := w.run(quantum)
	instructions, strong = int(g.stats.WarpInstructions-before), g.sync.made
	switch {
	case err != nil:
		return WarpExited, instructions, strong, err
	case end == spins:
		return WarpPolls, instructions, strong, nil
	case end == blocked:
		return WarpWaits, instructions, strong, nil
	case end == busy:
		return WarpRuns, instructions, strong, nil
	}
	b.running--
	if b.running == 0 {
		err = g.leave(b)
		g.startClusters()
	}
	return WarpExited, instructions, strong, err
}

// PollsAgain reports whether the last turn of the grid, one of this warp, has begun with a strong load, made no other
// strong access, and ended in front of the same load of the same addresses.
func (t Warp) PollsAgain() bool {
	s := &t.w.grid.sync
	return s.made == 1 && s.first && s.last.reads && s.last == s.next
}

// StoppedBeforeAccess reports whether the last turn of the grid, one of this warp, has ended in front of a strong access.
func (t Warp) StoppedBeforeAccess() bool { return t.w.grid.sync.next.pc >= 0 }

// Deadlock is the error of a grid all of whose warps wait at barriers.
func (g *Grid) Deadlock() error {
	if g.Ended() {
		return nil
	}
	return g.deadlock()
}

// endEarly ends a turn with an error, or in front of a strong access: with the same state as a turn of exactly so many
// instructions, which a replay makes of it. The running path has executed some of them, and tried to execute the last one.
func (w *warp) endEarly(executed int, err error) (outcome, error) {
	if err != errBeforeSync {
		return exited, err
	}
	w.grid.stats.WarpInstructions--
	if executed > 1 {
		w.current.state = spinning
	}
	w.pushPath(w.current)
	w.watch.goesOn = w.grid.chosen
	return busy, nil
}

// leave removes a block that has exited.
func (g *Grid) leave(b *block) error {
	b.performAll()
	if err := b.performAllTensor(); err != nil {
		return err
	}
	if err := b.checkTensorMemory(); err != nil {
		return err
	}
	if err := b.checkIncoming(); err != nil {
		return err
	}
	g.retire(b)
	b.tellEnd()
	b.giveMemory()
	for i := range g.blocks {
		if g.blocks[i] == b {
			g.blocks = append(g.blocks[:i], g.blocks[i+1:]...)
			break
		}
	}
	return nil
}

// wakes notes that a barrier has let warps of the block go on.
func (b *block) wakes() {
	if b.grid.chosen {
		b.grid.woken = append(b.grid.woken, b.index)
	}
}

// endsBefore reports whether the turn ends in front of a strong access, and counts the access otherwise.
func (w *warp) endsBefore(a *ObservedAccess, mask uint32) bool {
	s := &w.grid.sync
	here := syncAccess{pc: w.current.pc, reads: a.Kind == Reads, lanes: mask}
	if s.limited {
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			here.addresses[lane] = a.Addresses[lane]
		}
	}
	if s.limited && s.left <= 0 {
		s.next = here
		return true
	}
	s.first = s.first || s.made == 0 && w.grid.stats.WarpInstructions == s.begun+1
	s.left--
	s.made++
	s.last = here
	return false
}
