package exec

import "slices"

// The instructions wmma. PTX leaves open which element of a matrix is where in its registers, so that
// programs rely on wmma.load, .mma and .store to agree. An H100 has the registers of mma.sync of
// the same type, block after block, as here.

// wmmaShapes are the shapes of wmma by the type of A.
var wmmaShapes = map[string][]matrixShape{
	"f16":  {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}},
	"bf16": {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}},
	"s8":   {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}},
	"u8":   {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}},
	"tf32": {{16, 16, 8}},
	"f64":  {{8, 8, 4}},
	"s4":   {{8, 8, 32}},
	"u4":   {{8, 8, 32}},
	"b1":   {{8, 8, 128}},
}

// registersOfHalfs is how many registers A and B of .f16 have in every shape. Those that are not needed
// repeat the others.
const registersOfHalfs = 8

// wmma compiles wmma.load, .store and .mma.
func (c *compiler) wmma(o *op) {
	switch c.take("load", "store", "mma") {
	case "load":
		c.wmmaLoad(o)
	case "store":
		c.wmmaStore(o)
	case "mma":
		c.wmmaMultiply(o)
	default:
		c.fail("this form of wmma is not implemented")
	}
}

// wmmaMultiply compiles
//
//	wmma.mma.sync.aligned.layout.layout.shape.d{.a.b}.c{.satfinite, .rn} d, a, b, c;
//	wmma.mma.{xor,and}.popc.sync.aligned.row.col.shape.s32.b1.b1.s32 d, a, b, c;
//
// Of the layouts, loads have made nothing here.
func (c *compiler) wmmaMultiply(o *op) {
	m := &mmaInst{shape: c.takeShape(), wmma: true}
	layoutA, layoutB := c.take("row", "col"), c.take("row", "col")
	d, a, b, start := c.wmmaTypes()
	c.mmaArithmetic(m, d, a)
	if mode := c.take("rn", "rz", "rm", "rp"); mode != "" && (mode != "rn" || a.class != doubleElement) {
		c.fail("wmma.mma with rounding .%s is not implemented; .rn of .f64 is", mode)
	}
	if a.bits < 8 && (layoutA != "row" || layoutB != "col") || layoutB == "" {
		c.fail("wmma.mma needs the layouts of A and B, .row.col of elements below 8 bits")
	}
	if a != b && a.class != integerElement || !a.multiplies(b) || !a.accumulates(d) || !a.accumulates(start) {
		c.fail("wmma has no .%s of .%s and .%s, added to .%s", d.name, a.name, b.name, start.name)
	}
	c.wmmaNeeds(m.shape, a)
	if c.args(4); c.err != nil {
		return
	}
	m.fragA, m.fragB, m.acc = fragments(a, b, m.shape)
	c.mmaOperands(m, d, start)
	m.a = c.sources(1, m.fragA.wmmaRegisters(), a.register())[:m.fragA.registers()]
	m.b = c.sources(2, m.fragB.wmmaRegisters(), b.register())[:m.fragB.registers()]
	c.alignedRun(o, func(w *warp, _ *op) error { return w.multiply(m) })
}

// wmmaTypes takes the types of D, A, B and C. Of .f16 only those of the accumulators are named.
func (c *compiler) wmmaTypes() (d, a, b, start *elementType) {
	named := 0
	for _, m := range c.mods {
		if slices.ContainsFunc(elementTypes, func(t elementType) bool { return t.name == m }) {
			named++
		}
	}
	if named == 2 {
		types := c.takeElements(2)
		return types[0], &elementTypes[0], &elementTypes[0], types[1]
	}
	types := c.takeElements(4)
	return types[0], types[1], types[2], types[3]
}

// wmmaNeeds checks shape, target and version.
func (c *compiler) wmmaNeeds(s matrixShape, a *elementType) {
	if !slices.Contains(wmmaShapes[a.name], s) {
		c.fail("wmma of .%s has shapes %v", a.name, wmmaShapes[a.name])
	}
	switch {
	case a.name == "f16":
		c.needs(70, 6, 0)
	case a.class == integerElement && a.bits == 8:
		c.needs(72, 6, 3)
	case a.class == integerElement || a.class == bitElement:
		c.needs(75, 6, 3)
	default:
		c.needs(80, 7, 0)
	}
}

// wmmaRegisters is how many registers wmma has for a fragment.
func (f *fragment) wmmaRegisters() int {
	if f.name == "f16" {
		return registersOfHalfs
	}
	return f.registers()
}
