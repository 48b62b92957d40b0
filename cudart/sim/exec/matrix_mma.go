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
	sparse       *sparsity // nil if A is dense
	saturate     bool      // integers do not wrap around
	and          bool      // bits are combined by and, not xor
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

// sparseShapes are the shapes of mma.sp.
var sparseShapes = map[string][]matrixShape{
	"f16":  {{16, 8, 16}, {16, 8, 32}},
	"bf16": {{16, 8, 16}, {16, 8, 32}},
	"tf32": {{16, 8, 8}, {16, 8, 16}},
	"e4m3": {{16, 8, 64}},
	"e5m2": {{16, 8, 64}},
	"s8":   {{16, 8, 32}, {16, 8, 64}},
	"u8":   {{16, 8, 32}, {16, 8, 64}},
	"s4":   {{16, 8, 64}, {16, 8, 128}},
	"u4":   {{16, 8, 64}, {16, 8, 128}},
}

// mma compiles
//
//	mma.sync.aligned.shape.row.col{.satfinite}{.xor.popc, .and.popc}.d.a.b.c d, a, b, c;
//	mma.sync.aligned.m8n8k4.layout.layout.d.f16.f16.c d, a, b, c;
//	mma.sp{::ordered_metadata}.sync.aligned.shape.row.col{.satfinite}.d.a.b.c d, a, b, c, metadata, selector;
func (c *compiler) mma(o *op) {
	m := &mmaInst{shape: c.takeShape(), sparse: c.sparse()}
	if m.shape == (matrixShape{8, 8, 4}) && slices.Contains(c.mods, "f16") && m.sparse == nil {
		c.mmaQuads(o, m)
		return
	}
	if !c.has("row") || !c.has("col") {
		c.fail("mma needs .row.col")
	}
	types := c.takeElements(4)
	d, a, b := types[0], types[1], types[2]
	c.mmaArithmetic(m, d, a)
	shapes, operands := mmaShapes[a.name], 4
	if m.sparse != nil {
		shapes, operands = sparseShapes[a.name], 6
	}
	if d != types[3] || !a.multiplies(b) || !a.accumulates(d) {
		c.fail("mma has no .%s of .%s and .%s, added to .%s", d.name, a.name, b.name, types[3].name)
	}
	if m.sparse != nil && a.bits == 8 && d.name == "f16" {
		c.fail("mma.sp of .%s is added to .f32", a.name)
	}
	if c.err == nil && !slices.Contains(shapes, m.shape) {
		c.fail("mma of .%s has shapes %v", a.name, shapes)
	}
	c.mmaNeeds(m, a)
	if c.args(operands); c.err != nil {
		return
	}
	m.fragA, m.fragB, m.acc = fragments(a, b, m.shape)
	if m.sparse != nil {
		m.fragA.k /= 2
		m.sparse.operands(c, 4, a, m.shape.k)
	}
	c.mmaOperands(m, d, d)
	m.a = c.sources(1, m.fragA.registers(), a.register())
	m.b = c.sources(2, m.fragB.registers(), b.register())
	c.alignedRun(o, func(w *warp, _ *op) error { return w.multiply(m) })
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
func (c *compiler) mmaNeeds(m *mmaInst, a *elementType) {
	switch s := m.shape; {
	case a.class == doubleElement && s.m == 16:
		c.needs(90, 7, 8)
	case a.class == floatElement && a.bits == 8:
		c.needs(89, 8, 4)
	case m.sparse != nil:
		c.needs(80, 7, 1)
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

func (w *warp) multiply(m *mmaInst) error {
	var places *places
	if s := m.sparse; s != nil {
		var why string
		var lane int
		if places, why, lane = s.find(&w.regs[s.meta]); why != "" {
			return w.fault(IllegalInstruction, lane, "%s", why)
		}
	}
	var out [8]lanes // a destination may be a source
	d := out[:len(m.d)]
	switch m.fragA.class {
	case floatElement:
		w.multiplyFloats(m, places, d)
	case doubleElement:
		w.multiplyDoubles(m, d)
	case integerElement:
		w.multiplyIntegers(m, places, d)
	case bitElement:
		w.multiplyBits(m, d)
	}
	for j, slot := range m.d {
		w.regs[slot] = d[j]
	}
	return nil
}
