package exec

import (
	"math/bits"
	"unsafe"
)

// warp is 32 lanes that execute together.
type warp struct {
	grid  *Grid
	block *block
	index int // within the block

	stores *storeBuffer // the block's; nil without disorder
	warpMemory
	preds []uint32
	local []byte // of all lanes, one after the other
	live  uint32 // lanes that have not exited

	localSize int        // bytes of a lane's local memory
	localSpan span       // of the lane that [warp.window] was asked for last
	calls     *callStack // nil until the first call
	pace      int        // in disorder, how long its turns are for a while
	spun      bool       // the path that took the last backward branch had polled nothing new
	loops     loops

	// current is the running path; the others are paths[:others].
	current path
	paths   [32]path
	others  int

	metElsewhere uint32 // lanes of other paths that the running path met last

	clusterArrived uint32 // lanes that arrived at the cluster's barrier and have not waited
	clusterPhase   uint32 // the parity of the phase in which they did

	maxRegisters []uint64 // what its setmaxnreg have asked for

	scratch lanes       // of ops that compute all lanes and keep some
	offsets lanes       // scratch of loads and stores
	groups  [2][]groups // of each lane, by kind; nil until used
	async   asyncState  // of wgmma
	// tensorMoves are tcgen05.ld and st that the warp has not waited for.
	tensorMoves  []*pendingTensorMove
	tensorIssued map[int]*ObservedCopy // by lane: the last operation of tensor cores, in observed programs
	memberPtrs   []unsafe.Pointer      // scratch of multimem instructions
}

// outcome is how a warp's turn ended.
type outcome uint8

const (
	busy    outcome = iota // the quantum is used up
	spins                  // every lane that can run is polling
	blocked                // every lane waits at a barrier
	exited
)

// turn runs the warp for at most quantum instructions, unless it is parked.
func (w *warp) turn(quantum int) (outcome, error) {
	rest := w.rest()
	if rest == sleeps {
		return spins, nil
	}
	w.watch.parked = false
	end, err := w.run(quantum)
	if rest == polls && end != spins && w.watch.polls >= manyPolls {
		w.grid.awakeTurns = awakeTurns
	}
	return end, err
}

func (w *warp) run(quantum int) (outcome, error) {
	if !w.watch.goesOn {
		w.watch.restart()
	}
	w.watch.goesOn = false
	w.wakeSpinning()
	for quantum > 0 {
		if !w.selectPath() {
			return w.noneRunnable()
		}
		left, err := w.execute(quantum)
		if err != nil {
			return w.endEarly(quantum-left, err)
		}
		quantum = left
	}
	if w.others == 0 {
		return exited, nil
	}
	w.watch.goesOn = w.grid.chosen
	return busy, nil
}

// execute runs the current path until another path must run, and returns the rest of the quantum.
func (w *warp) execute(quantum int) (int, error) {
	code := w.grid.kernel.code
	s := &w.current
	horizon := w.reconvergencePC()
	for quantum > 0 {
		if s.pc >= horizon {
			w.pushPath(*s)
			return quantum, nil
		}
		o := &code[s.pc]
		if o.runEnd != 0 && s.mask == fullMask {
			if n := w.executeRun(min(o.runEnd, horizon, s.pc+int32(quantum))); n > 0 {
				quantum -= n
				continue
			}
		}
		quantum--
		if stop, err := w.executeOne(o); stop || err != nil {
			return quantum, err
		}
	}
	// The path that used up the turn lets the other paths of the warp run first.
	s.state = spinning
	w.pushPath(*s)
	return 0, nil
}

// executeRun executes ops of a run that are before limit, for all lanes, and returns how many.
func (w *warp) executeRun(limit int32) int {
	s, stats := &w.current, &w.grid.stats
	n := w.runSteps(s.pc, limit-s.pc)
	s.pc += int32(n)
	stats.WarpInstructions += uint64(n)
	stats.LaneInstructions += 32 * uint64(n)
	return n
}

// executeOne executes an op for the running path, and reports whether another path may have to run.
func (w *warp) executeOne(o *op) (stop bool, err error) {
	s, stats := &w.current, &w.grid.stats
	mask := s.mask
	if o.guard >= 0 {
		mask &= w.preds[o.guard] ^ o.flip
	}
	stats.WarpInstructions++
	stats.LaneInstructions += uint64(bits.OnesCount32(mask))
	switch {
	case mask == 0:
	case o.kind == opBranch:
		return w.jump(o, mask), nil
	case o.kind == opControl:
		return w.control(o, mask)
	case o.kind == opRun:
		if !o.takesAffine {
			w.expandOperands(o)
		}
		err = o.run(w, o, mask)
	case o.kind == opCompare:
		p := &w.preds[o.p]
		*p = *p&^mask | w.compare(o)&mask
	case o.kind == opPredicate:
		w.setPred(o.p, o.logic.of(w.preds), mask)
	case mask == fullMask:
		w.compute(o)
	default:
		w.partial(o, mask)
	}
	if err == nil { // a fault is at the op
		s.pc++
	}
	return false, err
}

// partial executes an op for some lanes only.
func (w *warp) partial(o *op, mask uint32) {
	w.expandOperands(o)
	o.alu(&w.scratch, &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
	w.setReg(o.d, &w.scratch, mask)
}

// jump takes a branch for the lanes in mask and reports whether another path may have to run.
func (w *warp) jump(o *op, mask uint32) bool {
	s := &w.current
	if rest := s.mask &^ mask; rest != 0 {
		w.pushPath(s.rest(rest))
		s.mask = mask
	}
	from, backward := s.pc, o.target <= s.pc
	s.pc = o.target
	if backward {
		w.spun = s.polled != 0 && w.loops.polledAgain(from, s.mask, s.polled)
	}
	if backward && s.polled != 0 {
		s.polled = 0
		if w.others == 0 {
			w.spun = w.watch.turnBack() || w.spun
		}
		if w.spun {
			s.state = spinning
			w.pushPath(*s)
			return true
		}
	}
	if w.others > 0 {
		w.pushPath(*s)
		return true
	}
	return false
}

// control executes a control instruction and reports whether another path may have to run. Lanes
// whose guard is false become a path of their own.
func (w *warp) control(o *op, mask uint32) (bool, error) {
	s := &w.current
	if rest := s.mask &^ mask; rest != 0 {
		w.pushPath(s.rest(rest))
		s.mask = mask
	}
	w.expandOperands(o)
	v, err := o.control(w, o, mask)
	if err != nil {
		return true, err
	}
	switch v {
	case proceed:
		s.pc++
		if w.others == 0 {
			return false, nil
		}
		w.pushPath(*s)
	case yielded:
		w.watch.blind = true
		s.pc++
		s.state = spinning
		w.pushPath(*s)
	case retried:
		w.watch.blind = true
		s.state = spinning
		w.pushPath(*s)
	}
	return true, nil
}

// setReg writes the lanes of mask.
func (w *warp) setReg(slot int32, v *lanes, mask uint32) {
	d := &w.regs[slot]
	if mask == fullMask {
		*d = *v
		return
	}
	choose(d, v, d, mask)
}

// setPred writes the lanes of mask; predicate -1 is a sink.
func (w *warp) setPred(p int32, v, mask uint32) {
	if p >= 0 {
		w.preds[p] = w.preds[p]&^mask | v&mask
	}
}

// lowest is the first lane of a mask, within the bounds of a register.
func lowest(mask uint32) int { return bits.TrailingZeros32(mask) & 31 }
