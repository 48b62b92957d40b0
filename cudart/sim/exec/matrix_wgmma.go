package exec

import (
	"cmp"
	"slices"

	"gpurun/cudart/sim/ptx"
)

// wgmmaInst is the operands of a compiled wgmma.mma_async: d = a*b + d, of 64 x
// columns elements, of which each warp has 16 rows.
type wgmmaInst struct {
	inst         *ptx.Inst
	fragA, fragB fragment // of the rows of a warp
	acc          accumulators
	columns      int
	halfD        bool // accumulators are halfs, two in a register
	saturate     bool
	sparse       *sparsity // nil if A is dense

	d            []int32 // accumulators: 4 singles or integers for 8 columns
	a            []int32 // registers of A; nil where a descriptor says where it lies
	aDesc, bDesc int32
	scale        int32 // predicate: whether d is added
	flip         uint32
	negate       [2]bool // A, B
	mnMajor      [2]bool
}

// elementsOfK is how many elements of a decoded row of A or B there are along K: of bits, words.
func elementsOfK(f fragment) int {
	if f.class == bitElement {
		return f.k / 32
	}
	return f.k
}

// wgmma compiles the asynchronous multiplication by a warpgroup:
//
//	wgmma.fence.sync.aligned;
//	wgmma.mma_async.sync.aligned.m64nNkK.d.a.b{.satfinite}{.and.popc} d, a, b-desc, scale-d{, imm-scale-a,
//
// imm-scale-b{{, imm-trans-a}, imm-trans-b}};
//
//	wgmma.mma_async.sp.sync.aligned.m64nNkK.d.a.b{.satfinite} d, a, b-desc, metadata, selector, scale-d{, as above};
//	wgmma.commit_group.sync.aligned;
//	wgmma.wait_group.sync.aligned n;
func (c *compiler) wgmma(o *op) {
	if p := c.program.module; p.Target != "sm_90a" || !p.AtLeast(8, 0) {
		c.fail("wgmma needs target sm_90a and PTX 8.0")
	}
	switch c.take("fence", "mma_async", "commit_group", "wait_group") {
	case "fence":
		c.args(0)
		c.alignedRun(o, func(w *warp, _ *op) error { w.fenceRegisters(); return nil })
	case "mma_async":
		c.multiplyAsync(o)
	case "commit_group":
		c.args(0)
		c.alignedRun(o, func(w *warp, _ *op) error { w.commitMultiplications(); return nil })
	case "wait_group":
		c.args(1)
		n := c.arg(0)
		if n.Kind != ptx.Immediate {
			c.fail("the number of groups must be a literal")
		}
		c.waits = append(c.waits, c.index)
		c.aligned(o, func(w *warp, _ *op) (verdict, error) { return w.awaitMultiplications(n.Bits) })
	default:
		c.fail("this form of wgmma is not implemented")
	}
}

func (c *compiler) multiplyAsync(o *op) {
	m := &wgmmaInst{inst: c.in, sparse: c.sparse()}
	a := c.wgmmaTypes(m)
	registers := c.arg(1).Kind == ptx.Vector
	scales, majors := 2, 0 // literals that negate A and B, and say how they lie
	switch {
	case a.class != floatElement:
		scales = 0
	case a.bits == 16 && registers:
		majors = 1
	case a.bits == 16:
		majors = 2
	}
	next := 4 // operand, after scale-d
	if m.sparse != nil {
		next = 6
	}
	if c.args(next + scales + majors); c.err != nil {
		return
	}
	c.wgmmaOperands(m, registers)
	if m.sparse != nil {
		m.sparse.operands(c, 3, a, m.fragB.k)
	}
	m.scale, m.flip = c.srcPred(c.arg(next - 1))
	if scales > 0 {
		m.negate = [2]bool{c.literal(next, 1, -1) == -1, c.literal(next+1, 1, -1) == -1}
	}
	if majors == 2 {
		m.mnMajor[0] = c.literal(next+2, 0, 1) == 1
	}
	if majors > 0 {
		m.mnMajor[1] = c.literal(next+1+majors, 0, 1) == 1
	}
	c.asyncs = append(c.asyncs, m)
	c.alignedRun(o, func(w *warp, _ *op) error { return w.issue(m) })
}

// wgmmaTypes takes shape, types and the modifiers of integers and bits.
func (c *compiler) wgmmaTypes(m *wgmmaInst) (a *elementType) {
	s, types := c.takeShape(), c.takeElements(3)
	d, a, b := types[0], types[1], types[2]
	switch {
	case a.class == integerElement:
		m.saturate = c.has("satfinite")
	case a.class == bitElement && !(c.has("and") && c.has("popc")):
		c.fail("wgmma of .b1 needs .and.popc")
	}
	if !a.multiplies(b) || !a.accumulates(d) || a.bits == 4 || a.bits == 64 || m.sparse != nil && a.bits == 1 {
		c.fail("wgmma has no .%s of .%s and .%s", d.name, a.name, b.name)
	}
	step, held := 8, 8*rowOfK/a.bits
	k := held
	if m.sparse != nil {
		c.needs(90, 8, 2)
		k *= 2
	}
	if a.class != floatElement && s.n > 32 {
		step = 16
	}
	if s.m != 64 || s.n < 8 || s.n > 256 || s.n%step != 0 || s.k != k {
		c.fail("the shapes of wgmma of .%s are .m64nNk%d, with N a multiple of 8 up to 256, "+
			"and of 16 above 32 unless of floats", a.name, k)
	}
	m.columns, m.halfD = s.n, d.bits == 16
	m.fragA, m.fragB, m.acc = fragment{a, 16, held, true}, fragment{b, s.n, k, false}, accumulators{rows: 16, columns: s.n}
	return a
}

// wgmmaOperands compiles accumulators and matrices.
func (c *compiler) wgmmaOperands(m *wgmmaInst, registers bool) {
	n := m.acc.count()
	if m.halfD {
		n /= 2
	}
	m.d = c.destinations(0, n, b32)
	c.sources(0, n, b32) // for the register allocation
	if registers {
		m.a = c.sources(1, m.fragA.registers(), b32)
	} else {
		c.src(&m.aDesc, 1, b64)
	}
	c.src(&m.bDesc, 2, b64)
}

// literal returns operand i, which must be one of two numbers.
func (c *compiler) literal(i int, x, y int64) int64 {
	o := c.arg(i)
	if n := int64(o.Bits); o.Kind == ptx.Immediate && (n == x || n == y) {
		return n
	}
	c.fail("operand %d of %s must be %d or %d", i+1, c.in.Op, x, y)
	return x
}

// registers are those that the instruction uses while it is under way.
func (m *wgmmaInst) registers() []int32 { return append(m.a[:len(m.a):len(m.a)], m.d...) }

// keepAsync makes every wait for multiplications read the registers of all of them, so that the
// register allocation reuses none before.
func (c *compiler) keepAsync() {
	if len(c.asyncs) == 0 {
		return
	}
	var kept []ref
	for _, at := range c.waits {
		for _, m := range c.asyncs {
			for _, virtual := range m.registers() {
				slot := virtual
				kept = append(kept, ref{at, &slot, false})
			}
		}
	}
	c.refs = append(c.refs, kept...)
	c.sortRefs()
}

// sortRefs puts refs in the order of the code again.
func (c *compiler) sortRefs() {
	slices.SortStableFunc(c.refs, func(a, b ref) int { return cmp.Compare(a.at, b.at) })
}

// asyncRegisters returns the registers of multiplications after allocation.
func asyncRegisters(all []*wgmmaInst) []int32 {
	var slots []int32
	for _, m := range all {
		slots = append(slots, m.registers()...)
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}
