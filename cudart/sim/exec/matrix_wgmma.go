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

	d            []int32 // accumulators: 4 singles or integers for 8 columns
	a            []int32 // registers of A; nil where a descriptor says where it lies
	aDesc, bDesc int32
	scale        int32 // predicate: whether d is added
	flip         uint32
	negate       [2]bool // A, B
	mnMajor      [2]bool
}

// elementsOfK is how many elements of a decoded row there are along K: of bits, words.
func (m *wgmmaInst) elementsOfK() int {
	if m.fragA.class == bitElement {
		return m.fragA.k / 32
	}
	return m.fragA.k
}

// wgmma compiles the asynchronous multiplication by a warpgroup:
//
//	wgmma.fence.sync.aligned;
//	wgmma.mma_async.sync.aligned.m64nNkK.d.a.b{.satfinite}{.and.popc} d, a, b-desc, scale-d{, imm-scale-a,
//
// imm-scale-b{{, imm-trans-a}, imm-trans-b}};
//
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
	c.dense()
	m := &wgmmaInst{inst: c.in}
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
	if c.args(4 + scales + majors); c.err != nil {
		return
	}
	c.wgmmaOperands(m, registers)
	if scales > 0 {
		m.negate = [2]bool{c.literal(4, 1, -1) == -1, c.literal(5, 1, -1) == -1}
	}
	if majors == 2 {
		m.mnMajor[0] = c.literal(6, 0, 1) == 1
	}
	if majors > 0 {
		m.mnMajor[1] = c.literal(5+majors, 0, 1) == 1
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
	if !a.multiplies(b) || !a.accumulates(d) || a.bits == 4 || a.bits == 64 {
		c.fail("wgmma has no .%s of .%s and .%s", d.name, a.name, b.name)
	}
	step, k := 8, 8*rowOfK/a.bits
	if a.class != floatElement && s.n > 32 {
		step = 16
	}
	if s.m != 64 || s.n < 8 || s.n > 256 || s.n%step != 0 || s.k != k {
		c.fail("the shapes of wgmma of .%s are .m64nNk%d, with N a multiple of 8 up to 256, "+
			"and of 16 above 32 unless of floats", a.name, k)
	}
	m.columns, m.halfD = s.n, d.bits == 16
	m.fragA, m.fragB, m.acc = fragment{a, 16, k, true}, fragment{b, s.n, k, false}, accumulators{rows: 16, columns: s.n}
	return a
}

// wgmmaOperands compiles accumulators, matrices and scale.
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
	m.scale, m.flip = c.srcPred(c.arg(3))
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
