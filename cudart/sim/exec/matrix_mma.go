package exec

import "slices"

// matrix compiles the instructions on matrices that a warp or a warpgroup holds
// together.
func (c *compiler) matrix(o *op) {
	switch c.in.Op {
	case "mma":
		c.mma(o)
	case "wmma":
		c.wmma(o)
	case "ldmatrix":
		c.loadMatrix(o)
	case "stmatrix":
		c.storeMatrix(o)
	case "movmatrix":
		c.transposeMatrix(o)
	case "wgmma":
		c.wgmma(o)
	}
}

// mmaInst is the operands of a compiled product of a warp: d = a*b + c.
type mmaInst struct {
	shape        matrixShape
	fragA, fragB fragment
	acc          accumulators
	d, a, b, c   []int32
	halfD, halfC bool // accumulators are halfs, two in a register
	wmma         bool
	saturate     bool // integers do not wrap around
	and          bool // bits are combined by and, not xor
}

// mmaShapes are the shapes of mma.sync by the type of A.
var mmaShapes = map[string][]matrixShape{
	"f16":  {{16, 8, 8}, {16, 8, 16}},
	"bf16": {{16, 8, 8}, {16, 8, 16}},
	"tf32": {{16, 8, 4}, {16, 8, 8}},
	"f64":  {{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}},
	"e4m3": {{16, 8, 16}, {16, 8, 32}},
	"e5m2": {{16, 8, 16}, {16, 8, 32}},
	"s8":   {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}},
	"u8":   {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}},
	"s4":   {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}},
	"u4":   {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}},
	"b1":   {{8, 8, 128}, {16, 8, 128}, {16, 8, 256}},
}

// mma compiles mma.sync.aligned.shape.row.col{.satfinite}{.xor.popc, .and.popc}.d.a.b.c d, a, b, c.
func (c *compiler) mma(o *op) {
	c.dense()
	m := &mmaInst{shape: c.takeShape()}
	if m.shape == (matrixShape{8, 8, 4}) && slices.Contains(c.mods, "f16") {
		c.fail("mma.m8n8k4 of .f16 is for the tensor cores of sm_70, and not implemented: use .m16n8k8 or .m16n8k16")
		return
	}
	if !c.has("row") || !c.has("col") {
		c.fail("mma needs .row.col")
	}
	types := c.takeElements(4)
	d, a, b := types[0], types[1], types[2]
	c.mmaArithmetic(m, d, a)
	if d != types[3] || !a.multiplies(b) || !a.accumulates(d) {
		c.fail("mma has no .%s of .%s and .%s, added to .%s", d.name, a.name, b.name, types[3].name)
	}
	if c.err == nil && !slices.Contains(mmaShapes[a.name], m.shape) {
		c.fail("mma of .%s has shapes %v", a.name, mmaShapes[a.name])
	}
	c.mmaNeeds(m.shape, a)
	if c.args(4); c.err != nil {
		return
	}
	m.fragA, m.fragB, m.acc = fragments(a, b, m.shape)
	c.mmaOperands(m, d, d)
	m.a = c.sources(1, m.fragA.registers(), a.register())
	m.b = c.sources(2, m.fragB.registers(), b.register())
	c.alignedRun(o, func(w *warp, _ *op) error { w.multiply(m); return nil })
}

// dense refuses products of sparse matrices.
func (c *compiler) dense() {
	if c.take("sp", "sp::ordered_metadata") != "" {
		c.fail("%s of a sparse matrix (.sp) is not implemented", c.in.Op)
	}
}

// mmaArithmetic takes the modifiers of integers and bits.
func (c *compiler) mmaArithmetic(m *mmaInst, d, a *elementType) {
	if d.name == "s32" && a.class == integerElement {
		m.saturate = c.has("satfinite")
	}
	if a.class == bitElement {
		combine := c.take("xor", "and")
		if m.and = combine == "and"; combine == "" || !c.has("popc") {
			c.fail("%s of .b1 needs .xor.popc or .and.popc", c.in.Op)
		}
	}
}

// mmaNeeds checks target and version.
func (c *compiler) mmaNeeds(s matrixShape, a *elementType) {
	switch {
	case a.class == doubleElement && s.m == 16:
		c.needs(90, 7, 8)
	case a.class == floatElement && a.bits == 8:
		c.needs(89, 8, 4)
	case s.m == 8 && a.class != doubleElement, s == matrixShape{16, 8, 8} && a.name == "f16":
		c.needs(75, 6, 5)
	default:
		c.needs(80, 7, 0)
	}
}

// mmaOperands compiles the accumulators, of the given types, which are operands 0 and 3.
func (c *compiler) mmaOperands(m *mmaInst, d, start *elementType) {
	m.halfD, m.halfC = d.bits == 16, start.bits == 16
	m.d = c.destinations(0, m.acc.count()/d.perRegister(), d.register())
	m.c = c.sources(3, m.acc.count()/start.perRegister(), start.register())
}

func (w *warp) multiply(m *mmaInst) {
	var out [8]lanes // a destination may be a source
	d := out[:len(m.d)]
	switch m.fragA.class {
	case floatElement:
		w.multiplyFloats(m, d)
	case doubleElement:
		w.multiplyDoubles(m, d)
	case integerElement:
		w.multiplyIntegers(m, d)
	case bitElement:
		w.multiplyBits(m, d)
	}
	for j, slot := range m.d {
		w.regs[slot] = d[j]
	}
}
