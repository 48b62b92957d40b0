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

// compiler compiles one entry. Operand errors are kept in err, where compile
// looks after each instruction, so that the code that builds an op reads
// without interruption.
type compiler struct {
	program *Program
	entry   *ptx.Entry
	kernel  *Kernel

	in    *ptx.Inst // the instruction being compiled
	mods  []string  // its modifiers that have not been taken yet
	index int       // of in
	err   error
	wide  bool // a source of in is a register wider than its type

	params map[string]int64 // offsets by name
	shared map[string]int64
	local  map[string]int64
	preds  map[int]int32 // ptx register to predicate index
	consts map[constant]int32
	refs   []ref

	asyncs []*wgmmaInst // and the ops that wait for them
	waits  []int
}

// ref is a place in an op that holds a register number, so that registers can
// be renumbered after allocation.
type ref struct {
	at   int // index of the op
	slot *int32
	def  bool
}

func compileEntry(p *Program, e *ptx.Entry) (*Kernel, error) {
	c := &compiler{
		program: p, entry: e,
		kernel: &Kernel{Name: e.Name, Demands: demandsOf(e), module: p.module.Name},
		preds:  map[int]int32{}, consts: map[constant]int32{},
	}
	if err := c.layout(); err != nil {
		return nil, err
	}
	if e.BlocksAreClusters {
		return nil, &ptx.Error{Module: p.module.Name, Line: e.Line, Text: e.Name, Reason: ".blocksareclusters is not implemented; give the grid in blocks"}
	}
	if len(e.Regs) > maxRegisters {
		return nil, &ptx.Error{Module: p.module.Name, Line: e.Line, Text: e.Name, Reason: "the kernel has too many registers"}
	}
	// Ops are addressed by refs, so the slice must not move.
	c.kernel.code = make([]op, len(e.Body)+1)
	for i := range e.Body {
		c.index, c.in = i, &e.Body[i]
		if err := c.compile(&c.kernel.code[i]); err != nil {
			return nil, err
		}
	}
	// Running off the end is a return.
	end := &ptx.Inst{Line: e.Line, Text: "end of " + e.Name, Op: "ret"}
	c.kernel.code[len(e.Body)] = op{kind: opControl, guard: -1, control: exitLanes, inst: end}
	c.keepAsync()
	c.allocate()
	c.name()
	c.kernel.findRuns()
	c.kernel.async = asyncRegisters(c.asyncs)
	c.kernel.preds = len(c.preds) + 1 // predicate 0 is always false
	return c.kernel, nil
}

// compile compiles the current instruction and complains about any modifier
// that was not understood.
func (c *compiler) compile(o *op) error {
	c.err, c.mods, c.wide = nil, slices.Clone(c.in.Mods), false
	*o = op{inst: c.in, guard: -1, p: -1, q: -1}
	if g := c.in.Guard; g.Reg >= 0 {
		o.guard = c.predicate(g.Reg)
		if g.Negate {
			o.flip = fullMask
		}
	}
	c.dispatch(o)
	c.vectorize(o)
	if c.err == nil && len(c.mods) > 0 {
		c.fail("%s does not implement .%s", c.in.Op, c.mods[0])
	}
	return c.err
}

// fail records the first error of an instruction.
func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &ptx.Error{
			Module: c.program.module.Name, Line: c.in.Line, Text: c.in.Text,
			Reason: fmt.Sprintf(format, args...),
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

// layout gives every parameter and variable its offset.
func (c *compiler) layout() error {
	c.params, c.shared, c.local = map[string]int64{}, map[string]int64{}, map[string]int64{}
	var params, local int64
	reserved := c.reservedShared()
	shared := reserved
	place := func(offsets map[string]int64, v *ptx.Var, end *int64) {
		*end = align(*end, int64(v.Align))
		offsets[v.Name] = *end
		*end += v.Size
	}
	for _, v := range c.entry.Params {
		place(c.params, v, &params)
	}
	var dynamic []*ptx.Var
	for _, v := range slices.Concat(c.program.module.Vars, c.entry.Vars) {
		switch {
		case v.Space == ptx.Shared && v.Extern:
			dynamic = append(dynamic, v)
		case v.Space == ptx.Shared:
			if c.mentions(v.Name) {
				place(c.shared, v, &shared)
			}
		case v.Space == ptx.Local:
			place(c.local, v, &local)
		}
	}
	if err := c.checkSizes(params, shared-reserved, local); err != nil {
		return err
	}
	start := int64(16)
	for _, v := range dynamic {
		start = max(start, int64(v.Align))
	}
	c.kernel.dynamic, c.kernel.reserved = int(align(shared, start)), int(reserved)
	for _, v := range dynamic {
		c.shared[v.Name] = int64(c.kernel.dynamic)
	}
	c.kernel.ParamBytes, c.kernel.Shared, c.kernel.local = int(params), int(shared-reserved), int(align(local, 16))
	return nil
}

// checkSizes refuses what no GPU has room for, as ptxas does.
func (c *compiler) checkSizes(params, shared, local int64) error {
	for _, size := range []struct {
		bytes, most int64
		what        string
	}{
		{params, maxParams, "of parameters"},
		{shared, MaxSharedBytes, "of shared memory"},
		{local, maxLocal, "of local memory per thread"},
	} {
		if size.bytes > size.most {
			return &ptx.Error{
				Module: c.program.module.Name, Line: c.entry.Line, Text: c.entry.Name,
				Reason: fmt.Sprintf("the kernel has %d bytes, and %d are possible, %s", size.bytes, size.most, size.what),
			}
		}
	}
	return nil
}

// mentions reports whether the kernel uses a variable; shared variables of
// other kernels take no space in this one.
func (c *compiler) mentions(name string) bool {
	uses := func(o ptx.Operand) bool { return o.Kind == ptx.Symbol && o.Name == name }
	for i := range c.entry.Body {
		for _, arg := range c.entry.Body[i].Args {
			if uses(arg) || slices.ContainsFunc(arg.Elems, uses) {
				return true
			}
		}
	}
	return false
}
