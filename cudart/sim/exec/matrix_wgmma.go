package exec

import (
	"cmp"
	"fmt"
	"slices"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/tensorcore"
)

// wgmmaInst is the operands of a compiled wgmma.mma_async: d = a*b + d, of 64 x
// columns elements, of which each warp has 16 rows.
type wgmmaInst struct {
	inst    *ptx.Inst
	format  tensorcore.Format
	columns int

	d            []int32 // accumulators: 4 for 8 columns
	a            []int32 // registers of A; nil where a descriptor says where it lies
	aDesc, bDesc int32
	scale        int32 // predicate: whether d is added
	flip         uint32
	negate       [2]bool // A, B
	mnMajor      [2]bool
}

// wgmma compiles the asynchronous multiplication by a warpgroup:
//
//	wgmma.fence.sync.aligned;
//	wgmma.mma_async.sync.aligned.m64nNk16.f32.type.type d, a, b-desc, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a}, imm-trans-b;
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
	m := &wgmmaInst{inst: c.in, columns: c.takeColumns(), format: c.multiplicands()}
	registers := c.arg(1).Kind == ptx.Vector
	majors := 2 // literals that say how A and B lie
	if registers {
		majors = 1
	}
	if c.args(6 + majors); c.err != nil {
		return
	}
	if m.columns == 0 {
		c.fail("of the shapes of wgmma, only .m64nNk16 with N = 8, 16, ... 256 are implemented")
		return
	}
	m.d = c.destinations(0, m.columns/2, typeF32)
	c.sources(0, m.columns/2, typeF32) // for the register allocation
	if registers {
		m.a = c.sources(1, 4, b32)
	} else {
		c.src(&m.aDesc, 1, b64)
		m.mnMajor[0] = c.literal(6, 0, 1) == 1
	}
	c.src(&m.bDesc, 2, b64)
	if m.scale, m.flip = c.srcPred(c.arg(3)); m.scale < 0 {
		c.fail("the scale of the accumulators must be a predicate")
	}
	m.negate = [2]bool{c.literal(4, 1, -1) == -1, c.literal(5, 1, -1) == -1}
	m.mnMajor[1] = c.literal(5+majors, 0, 1) == 1
	c.asyncs = append(c.asyncs, m)
	c.alignedRun(o, func(w *warp, _ *op) error { return w.issue(m) })
}

// takeColumns takes the shape and returns its N, or 0.
func (c *compiler) takeColumns() int {
	for n := 8; n <= 256; n += 8 {
		if c.has(fmt.Sprintf("m64n%dk16", n)) {
			return n
		}
	}
	return 0
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
