package exec

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gpurun/cudart/sim/simd"
)

// runner is a warp whose kernel has one step, with eight registers and one region of memory.
func runner(o *op, data []byte) *warp {
	w := &warp{grid: &Grid{kernel: &Kernel{code: []op{*o}}}}
	w.grid.kernel.findRuns()
	w.grid.cache[FirstRegion] = newSpan(FirstRegion<<RegionShift, data)
	w.regs, w.affines, w.forms = make([]lanes, 8), make([]affine, 8), make([]form, 8)
	w.preds = make([]uint32, 4)
	w.forms[0] = isAffine
	return w
}

// Assembly for affine sources does what the rules say, and nothing where the result may not be affine.
func TestAffineCodeAgreesWithRules(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor has no assembly for it")
	}
	checked := map[affineRule]bool{}
	for _, text := range affineInstructions() {
		k, _ := compileWith(t, randomKernel(text), false).Kernel("run")
		o := *findOp(t, k, text)
		if o.kind == opCompare {
			checkComparison(t, text, &o)
		} else if _, ok := affineCodes[o.affine]; ok && o.step != nil {
			checked[o.affine] = true
			checkAffineCode(t, text, &o)
		}
	}
	for rule := range affineCodes {
		if !checked[rule] {
			t.Errorf("no instruction has the rule %+v", rule)
		}
	}
}

func checkAffineCode(t *testing.T, text string, o *op) {
	t.Helper()
	o.d = 7
	for slot, of := range map[int32]*int32{1: &o.a, 2: &o.b, 3: &o.c} {
		if *of != 0 { // an operand that the instruction has
			*of = slot
		}
	}
	w, r := runner(o, nil), rand.New(rand.NewPCG(5, 6))
	taken := 0
	for range 20000 {
		for k := 1; k <= 3; k++ {
			w.affines[k], w.forms[k] = affine{rampBase(r), rampStep(r)}, isAffine|lanesStale
			if k > 1 && r.IntN(2) == 0 {
				w.affines[k] = affine{base: uint64(r.IntN(70))}
			}
		}
		before := affine{1, 2}
		w.affines[7], w.forms[7] = before, 0
		in := [3]affine{w.affines[o.a], w.affines[o.b], w.affines[o.c]}
		want, ok := o.affine.of(in[0], in[1], in[2])
		steps, after := 1, isAffine|lanesStale
		if !ok {
			want, steps, after = before, 0, 0
		}
		if done := w.runSteps(0, 1); done != steps || w.affines[7] != want || w.forms[7] != after {
			t.Fatalf("%s of %#x: %d steps, %#x, form %d; want %d, %#x, %d", text, in, done, w.affines[7], w.forms[7],
				steps, want, after)
		}
		taken += steps
	}
	if taken < 1000 {
		t.Errorf("%s: only %d of 20000 gave an affine value", text, taken)
	}
	clear(w.affines)
	w.forms[7] = lanesOnly
	if done := w.runSteps(0, 1); done != 0 || w.forms[7] != lanesOnly {
		t.Errorf("%s wrote an affine value to a register that must have lanes", text)
	}
}

// checkComparison is checkAffineCode for setp. Assembly may leave it to the rule, but seldom.
func checkComparison(t *testing.T, text string, o *op) {
	t.Helper()
	o.a, o.b, o.p = 1, 2, 3
	w, r := runner(o, nil), rand.New(rand.NewPCG(7, 8))
	known, done := 0, 0
	for range 20000 {
		for k := 1; k <= 2; k++ {
			w.affines[k], w.forms[k] = affine{rampBase(r), rampStep(r)}, isAffine|lanesStale
		}
		if r.IntN(3) == 0 {
			w.affines[2] = affine{w.affines[1].base + uint64(r.IntN(3)) - 1, w.affines[1].stride}
		}
		before := r.Uint32()
		w.preds[3] = before
		want, ok := o.test.of(w.affines[1], w.affines[2])
		steps := w.runSteps(0, 1)
		if steps == 0 {
			want = before
		}
		if w.preds[3] != want || !ok && steps > 0 {
			t.Fatalf("%s of %#x: %d steps, %#x, want %#x", text, w.affines[1:3], steps, w.preds[3], want)
		}
		known, done = known+int(boolMask(ok)&1), done+steps
	}
	if done < known/2 || done < 1000 {
		t.Errorf("%s: only %d of %d that the rule knows", text, done, known)
	}
}

// Accesses of a run move what the loops move. They do nothing where one of their conditions does not hold.
func TestAccessesOfRuns(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor runs the loops")
	}
	r := rand.New(rand.NewPCG(15, 16))
	for shape := range accesses {
		bytes := shape.size * uint64(shape.n)
		o := &op{kind: opRun, guard: -1, a: 1, mem: &access{
			size: shape.size, vector: []int32{4, 6, 5, 7}[:shape.n], masks: slices.Repeat([]uint64{1<<64 - 1}, 4),
			writes: shape.writes, bias: 5 * bytes,
		}}
		(&compiler{program: &Program{}}).accessStep(o)
		data := zeroed(48 * int(bytes))
		for _, c := range []struct {
			name   string
			first  uint64 // offset of lane 0 in the region
			change func(w *warp)
			moves  bool
		}{
			{"as it should be", 3 * bytes, nil, true},
			{"at the start", 0, nil, true},
			{"at the end", 16 * bytes, nil, true},
			{"beyond the end", 17 * bytes, nil, false},
			{"before the start", -bytes, nil, false},
			{"misaligned", 3*bytes + 1, nil, false},
			{"another stride", 0, func(w *warp) { w.affines[1].stride *= 2 }, false},
			{"uniform", 0, func(w *warp) { w.affines[1].stride = 0 }, false},
			{"no region", 0, func(w *warp) { w.affines[1].base += 1 << RegionShift }, false},
			{"no memory", 0, func(w *warp) { w.stores = &storeBuffer{} }, false},
			{"lanes for an address", 0, func(w *warp) { w.forms[1] = 0 }, false},
			{"a stale value", 0, func(w *warp) { w.forms[o.mem.vector[shape.n-1]] = isAffine | lanesStale }, !shape.writes},
		} {
			fast, slow := runner(o, data), runner(o, slices.Clone(data))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			copy(slow.grid.cache[FirstRegion].data, data)
			for k := range fast.regs {
				for i := range fast.regs[k] {
					fast.regs[k][i] = r.Uint64() // what is beyond the size is not stored
				}
			}
			copy(slow.regs, fast.regs)
			fast.affines[1] = affine{FirstRegion<<RegionShift + c.first - o.mem.bias, bytes}
			fast.forms[1], fast.forms[4], fast.forms[6] = isAffine, isAffine, lanesOnly
			if c.change != nil {
				c.change(fast)
			}
			slow.forms = slices.Clone(fast.forms)
			if c.moves {
				moveByLoops(slow, o, shape, unsafe.Add(slow.grid.cache[FirstRegion].ptr, c.first))
			}
			steps := int(boolMask(c.moves) & 1)
			if done := fast.runSteps(0, 1); done != steps || !slices.Equal(fast.forms, slow.forms) {
				t.Errorf("%+v, %s: %d steps, forms %v; want %d, %v", shape, c.name, done, fast.forms, steps, slow.forms)
			}
			if !slices.Equal(fast.regs, slow.regs) || !slices.Equal(data, slow.grid.cache[FirstRegion].data) {
				t.Errorf("%+v, %s: registers or memory are not as the loops leave them", shape, c.name)
			}
			if fast.watch.blind != (c.moves && shape.writes) {
				t.Errorf("%+v, %s: progress is %v", shape, c.name, fast.watch.blind)
			}
		}
	}
}

func moveByLoops(w *warp, o *op, shape accessShape, p unsafe.Pointer) {
	step := shape.size * uint64(shape.n)
	if shape.writes {
		storeLoops(shape.size).strided(w, o, p, step)
		return
	}
	loadLoops(shape.size, false).strided(w, o, p, step)
	for _, slot := range o.mem.vector {
		w.dropAffine(slot)
	}
}

// A step for lanes is executed if its sources are up to date and not all affine.
func TestStepsForLanes(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor runs the loops")
	}
	for _, c := range []struct {
		a, b form
		done int
	}{
		{0, 0, 1},
		{isAffine, 0, 1},
		{0, isAffine, 1},
		{lanesOnly, isAffine, 1},
		{isAffine | lanesStale, 0, 0},
		{0, isAffine | lanesStale, 0},
		{isAffine, isAffine, 0},
	} {
		o := &op{guard: -1, a: 1, b: 2, d: 3}
		o.setVector(vectorALUs["xor.b32"]) // which has no code for affine values
		w := runner(o, nil)
		w.forms[1], w.forms[2], w.forms[3] = c.a, c.b, isAffine|lanesOnly
		w.regs[1][31], w.regs[2][31] = 5, 6
		done := w.runSteps(0, 1)
		want := form(isAffine | lanesOnly)
		if c.done == 1 {
			want = lanesOnly
		}
		if done != c.done || w.regs[3][31] != uint64(3*c.done) || w.forms[3] != want {
			t.Errorf("forms %d, %d: %d steps, %d, form %d", c.a, c.b, done, w.regs[3][31], w.forms[3])
		}
	}
}

// A step that splits a register writes both parts.
func TestStepsThatSplit(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor runs the loops")
	}
	for bits, split := range vectorSplits {
		w := runner(&op{kind: opRun, guard: -1, step: func(*op) simd.Step { return split.Step(2, 3, 1) }}, nil)
		w.forms[1], w.forms[2], w.forms[3] = 0, isAffine|lanesStale, isAffine|lanesOnly
		for i := range w.regs[1] {
			w.regs[1][i] = uint64(i+1)<<bits | uint64(100+i)
		}
		var low, high lanes
		unpackLoop(&low, &high, &w.regs[1], bits)
		done := w.runSteps(0, 1)
		if done != 1 || w.regs[2] != low || w.regs[3] != high || w.forms[2] != 0 || w.forms[3] != lanesOnly {
			t.Errorf("%d bits: %d steps, forms %v", bits, done, w.forms)
		}
	}
}

// Steps on predicates: comparisons, selp and logic.
func TestStepsOnPredicates(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor runs the loops")
	}
	r := rand.New(rand.NewPCG(17, 18))
	less := &op{kind: opCompare, guard: -1, a: 1, b: 2, p: 3}
	less.setComparison(vectorCompares["setp.lt.s64"])
	w := runner(less, nil)
	for i := range w.regs[1] {
		w.regs[1][i], w.regs[2][i] = r.Uint64()>>60, r.Uint64()>>60
	}
	if w.runSteps(0, 1) != 1 || w.preds[3] != less.cmpLanes(w) || w.forms[0] != isAffine {
		t.Errorf("setp: %#x, want %#x; form of register 0: %d", w.preds[3], less.cmpLanes(w), w.forms[0])
	}
	for _, a := range []uint32{0, fullMask, r.Uint32()} {
		for _, l := range []logic{
			{firstMask, 1, 2, 0, 0},
			{firstMask, 1, 2, fullMask, 0},
			{andMasks, 1, 2, 0, fullMask},
			{orMasks, 2, 1, 0, 0},
			{xorMasks, 1, 2, fullMask, 0},
		} {
			w := runner(&op{kind: opPredicate, guard: -1, p: 3, logic: l, step: logicStep}, nil)
			w.preds[1], w.preds[2] = a, r.Uint32()
			if w.runSteps(0, 1) != 1 || w.preds[3] != l.of(w.preds) {
				t.Errorf("%+v of %#x, %#x: %#x", l, w.preds[1], w.preds[2], w.preds[3])
			}
		}
		for _, flip := range []uint32{0, fullMask} {
			checkChoice(t, r, a, flip)
		}
	}
}

func (o *op) cmpLanes(w *warp) uint32 { return compareLess[int64](0)(&w.regs[o.a], &w.regs[o.b]) }

func checkChoice(t *testing.T, r *rand.Rand, mask, flip uint32) {
	t.Helper()
	for _, affineSources := range []bool{false, true} {
		w := runner(&op{kind: opRun, guard: -1, a: 1, b: 2, d: 3, step: chooseStep(1, flip)}, nil)
		w.preds[1] = mask ^ flip
		for k := 1; k <= 2; k++ {
			w.affines[k] = affine{r.Uint64(), r.Uint64()}
			w.affines[k].expandTo(&w.regs[k])
			if affineSources {
				w.forms[k] = isAffine | lanesStale
			}
		}
		var want lanes
		chooseLoop(&want, &w.regs[1], &w.regs[2], mask)
		if done := w.runSteps(0, 1); done == 0 && affineSources && mask != 0 && mask != fullMask {
			continue // lanes choose different values
		} else if w.expandLanes(3); done != 1 || w.regs[3] != want || affineSources != (w.forms[3] == isAffine) {
			t.Errorf("selp by %#x (%#x), affine %v: %d steps, %#x, want %#x", mask, flip, affineSources, done, w.regs[3], want)
		}
	}
}
