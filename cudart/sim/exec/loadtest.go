package exec

import (
	"math/bits"
	"slices"
	"sync"

	"gpurun/cudart/sim/ptx"
)

// loadTests is what a program tests of the elements that an instruction loads: for each element the first comparison of
// a value that is computed of it. The code behind the load is followed in its order, across conditional branches.
type loadTests struct {
	elements [8]loadTest
}

// loadTest is a chain of instructions from a load to a comparison; the last one is the setp.
type loadTest struct {
	chain    []testStep
	operands []testOperand // of all steps, but for the value
	// settled is false where an operand beside the value is computed behind the load.
	settled bool
}

// testStep is an instruction that reads the value, or what was computed of it.
type testStep struct {
	pc     int32
	part   int   // of a mov that takes a register apart, which element goes on
	others []int // the sources, from 0 on, that hold nothing of what was loaded
}

// testOperand is an operand of an instruction: a register, a constant, or something that is not known.
type testOperand struct {
	pc       int32
	register bool
	known    bool
	slot     int32  // of the register
	bits     uint64 // of the constant
}

// followed is a register that depends on what was loaded.
type followed struct {
	elements uint32 // it depends on these
	loadTest
}

// follower walks through the code behind a load.
type follower struct {
	code    []op
	regs    map[int]followed
	defined map[int]bool // registers that are written behind the load
	end     int32        // of the loop that the load is in
	tests   loadTests
}

// mostFollowed bounds how many instructions behind a load are looked at.
const mostFollowed = 512

// followedLoads are the loads of a kernel that were followed, by their places. A sync.Map is generic code: compiled
// here, where the race detector is left out, the whole program would have it without the detector's calls.
type followedLoads struct {
	mu    sync.Mutex
	tests map[int32]*loadTests
}

// loadTests follows the load at a place.
func (k *Kernel) loadTests(pc int32) *loadTests {
	k.followed.mu.Lock()
	defer k.followed.mu.Unlock()
	if known := k.followed.tests[pc]; known != nil {
		return known
	}
	f := &follower{code: k.code, regs: map[int]followed{}, defined: map[int]bool{}}
	in := k.code[pc].inst
	if len(in.Args) > 0 && (in.Op == "ld" || in.Op == "atom") {
		for i, r := range registersOf(in.Args[0]) {
			f.regs[r] = followed{1 << i, loadTest{settled: true}}
		}
		f.end = k.loopEnd(pc)
		f.walk(pc + 1)
	}
	if k.followed.tests == nil {
		k.followed.tests = map[int32]*loadTests{}
	}
	k.followed.tests[pc] = &f.tests
	return &f.tests
}

// loopEnd is the last branch back to the head of the innermost loop around a place; behind it, the value is not waited
// for. Without a loop it is the end of the code.
func (k *Kernel) loopEnd(at int32) int32 {
	head, end := int32(-1), int32(len(k.code))
	for pc := at; int(pc) < min(len(k.code), int(at)+mostFollowed); pc++ {
		if o := &k.code[pc]; o.kind == opBranch && o.target <= at && o.target >= head {
			head, end = o.target, pc
		}
	}
	return end
}

// walk follows the code until a loop or the function ends.
func (f *follower) walk(pc int32) {
	seen := map[int32]bool{}
	for range mostFollowed {
		if int(pc) >= len(f.code) || seen[pc] || pc > f.end {
			return
		}
		seen[pc] = true
		o := &f.code[pc]
		switch in := o.inst; {
		case in.Op == "ret" || in.Op == "exit" || in.Op == "call" || in.Op == "brx":
			if in.Guard.Reg < 0 {
				return
			}
		case o.kind == opBranch && in.Guard.Reg < 0:
			pc = o.target
			continue
		default:
			f.step(pc, in)
		}
		pc++
	}
}

// step notes what an instruction makes of the registers.
func (f *follower) step(pc int32, in *ptx.Inst) {
	if len(in.Args) == 0 {
		return
	}
	var of followed
	reads, settled, step := false, true, testStep{pc: pc}
	for i, a := range in.Args[1:] {
		other := true
		for _, r := range registersOf(a) {
			from, ok := f.regs[r]
			switch {
			case ok && !reads:
				of, reads, other = from, true, false
			case ok:
				of.elements |= from.elements
				other = false
			case f.defined[r]:
				settled = false
			}
		}
		if other {
			step.others = append(step.others, i)
		}
	}
	of.chain, of.settled = append(slices.Clip(of.chain), step), of.settled && settled
	switch in.Op {
	case "setp":
		f.note(of, reads)
		return
	case "st", "red", "bar", "barrier", "fence", "membar", "bra", "nanosleep":
		return
	case "ld", "atom", "set", "selp", "slct":
		reads = false // the value goes another way
	}
	f.define(in, of, reads)
}

// note keeps the first test of each element.
func (f *follower) note(of followed, reads bool) {
	for e := of.elements; reads && e != 0; e &= e - 1 {
		if t := &f.tests.elements[bits.TrailingZeros32(e)]; t.chain == nil {
			*t = of.loadTest
			t.findOperands(f.code)
			t.settled = t.settled && bits.OnesCount32(of.elements) == 1 // another element would be an operand, too
		}
	}
}

// findOperands finds the operands of a chain.
func (t *loadTest) findOperands(code []op) {
	for _, s := range t.chain {
		for _, at := range s.others {
			t.operands = append(t.operands, operandOf(code, s.pc, at))
		}
	}
}

// define gives the destinations of an instruction what they depend on.
func (f *follower) define(in *ptx.Inst, of followed, reads bool) {
	for part, r := range registersOf(in.Args[0]) {
		f.defined[r] = true
		delete(f.regs, r)
		if reads {
			to := of
			to.chain = slices.Clone(of.chain)
			to.chain[len(to.chain)-1].part = part
			f.regs[r] = to
		}
	}
}

// registersOf lists the registers of an operand.
func registersOf(o ptx.Operand) []int {
	switch o.Kind {
	case ptx.Register:
		return []int{o.Reg}
	case ptx.Vector, ptx.Pair:
		var all []int
		for _, e := range o.Elems {
			if e.Kind == ptx.Register {
				all = append(all, e.Reg)
			} else {
				all = append(all, -1) // keeps the places of the others
			}
		}
		return all
	}
	return nil
}
