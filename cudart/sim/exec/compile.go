package exec

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/ptx"
)

// Limits of one kernel. That on registers is before allocation.
const (
	maxRegisters = 1 << 16
	maxParams    = 32764
	maxLocal     = 512 << 10 // bytes per thread
)

// compiler compiles the code of a kernel, or of a function for a kernel. Operand errors are kept in err, where compile
// looks after each instruction, so that the code that builds an op reads
// without interruption.
type compiler struct {
	program *Program
	entry   *ptx.Function
	kernel  *Kernel // that of a function holds its code alone, until it is linked
	unit    *unit

	in       *ptx.Inst // the instruction being compiled
	mods     []string  // its modifiers that have not been taken yet
	index    int       // of in
	err      error
	wide     bool // a source of in is a register wider than its type
	extended bool // the destination of in is one, and gets the sign of the result

	params map[string]int64 // offsets by name; a kernel's own parameters
	shared map[string]int64
	local  map[string]int64 // variables in local memory; a function's parameters, too
	preds  map[int]int32    // ptx register to predicate index
	consts map[constant]int32
	halves map[int]int // ptx register of 128 bits to the first of its two of 64
	refs   []ref

	asyncs []*wgmmaInst // and the ops that wait for them
	waits  []int
	// tcgen05.ld, and the ops that wait for them.
	tensorLoads []tensorLoad
	tensorWaits []int

	moved *wmmaMove // of the last wmma.load or wmma.store
}

// ref is a place in an op that holds a register number, so that registers can
// be renumbered after allocation.
type ref struct {
	at   int // index of the op
	slot *int32
	def  bool
}

func compileEntry(p *Program, e *ptx.Entry) (*Kernel, error) {
	k := &Kernel{Name: e.Name, Demands: demandsOf(e), module: p.module.Name, program: p}
	if err := checkClusterGrid(p, e); err != nil {
		return nil, err
	}
	l := &linker{program: p, kernel: k, byName: map[string]*unit{}}
	if err := l.collect(&e.Function); err != nil {
		return nil, err
	}
	l.sizeVariadics()
	if err := l.layout(); err != nil {
		return nil, err
	}
	for _, u := range l.units {
		if err := u.compile(l); err != nil {
			return nil, err
		}
	}
	l.link()
	return k, nil
}

// compile compiles the current instruction and complains about any modifier
// that was not understood.
func (c *compiler) compile(o *op) error {
	c.err, c.mods, c.wide, c.extended = nil, slices.Clone(c.in.Mods), false, false
	*o = op{inst: c.in, guard: -1, p: -1, q: -1, warpSync: isWarpSync(c.in)}
	if g := c.in.Guard; g.Reg >= 0 {
		o.guard = c.predicate(g.Reg)
		if g.Negate {
			o.flip = fullMask
		}
	}
	c.dispatch(o)
	c.vectorize(o)
	if c.program.observed {
		c.observe(o)
	}
	if c.err == nil && len(c.mods) > 0 {
		c.fail("%s does not implement .%s", c.in.Op, c.mods[0])
	}
	return c.err
}

// fail records the first error of an instruction.
func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &ptx.Error{
			Module: c.program.module.Name, Line: c.in.Line, Text: c.in.Source(),
			Reason: fmt.Sprintf(format, args...), Source: c.program.source(c.entry, c.in),
		}
	}
}

// take removes the first of the named modifiers that is there and returns it,
// or returns "".
func (c *compiler) take(names ...string) string {
	for i, m := range c.mods {
		if slices.Contains(names, m) {
			c.mods = slices.Delete(c.mods, i, i+1)
			return m
		}
	}
	return ""
}

func (c *compiler) has(name string) bool { return c.take(name) != "" }

// takeType removes the first modifier that is a type. Few instructions know
// 8-bit floats; they call takeAnyType.
func (c *compiler) takeType() ptx.Type {
	t := c.takeAnyType()
	if t.IsFloat8() {
		c.fail("%s does not implement .%s", c.in.Op, t)
	}
	return t
}

func (c *compiler) takeAnyType() ptx.Type {
	for i, m := range c.mods {
		if t, ok := ptx.ParseType(m); ok {
			c.mods = slices.Delete(c.mods, i, i+1)
			return t
		}
	}
	c.fail("%s needs a type", c.in.Op)
	return ptx.Type{}
}

func (c *compiler) takeSpace() ptx.Space {
	for i, m := range c.mods {
		if s, ok := ptx.ParseSpace(m); ok {
			c.mods = slices.Delete(c.mods, i, i+1)
			return s
		}
	}
	return ptx.Generic
}
