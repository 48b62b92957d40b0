package exec

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/ptx"
)

// linker makes one code of a kernel and of the functions that it may call. All of them share the
// register file of a warp: each has registers and predicates of its own there.
type linker struct {
	program *Program
	kernel  *Kernel
	units   []*unit // the kernel's own is the first
	byName  map[string]*unit
}

// unit is the code of a kernel or a function.
type unit struct {
	*callee
	fn     *ptx.Function // read
	index  int
	kernel bool
	c      *compiler
	shared map[string]int64 // offsets of its own variables in shared memory
	sites  []*callSite
	// slots and preds are its registers and predicates: from the first up to the second.
	slots, preds [2]int32
	// formals are the registers of results and parameters that have one, in this order.
	formals []int32
}

// collect reads a kernel and all functions that it may call.
func (l *linker) collect(kernel *ptx.Function) error {
	if err := l.add(kernel); err != nil {
		return err
	}
	for i := 0; i < len(l.units); i++ { // which grow meanwhile
		body := l.units[i].fn.Body
		for j := range body {
			if body[j].Op != "call" {
				continue
			}
			for _, name := range l.program.candidates(&body[j]) {
				if f, ok := l.program.module.Function(name); ok && f.Defined && l.byName[f.Name] == nil {
					if err := l.add(f); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (l *linker) add(f *ptx.Function) error {
	tree, err := l.program.module.Read(f)
	if err != nil {
		return err
	}
	if len(tree.Regs) > maxRegisters {
		return l.refuse(f, "the function has too many registers")
	}
	u := &unit{callee: &callee{name: f.Name}, fn: tree, index: len(l.units), kernel: len(l.units) == 0}
	l.units = append(l.units, u)
	if !u.kernel {
		l.byName[f.Name] = u
	}
	return nil
}

func (l *linker) refuse(f *ptx.Function, format string, args ...any) error {
	return &ptx.Error{Module: l.program.module.Name, Line: f.Line, Text: f.Name, Reason: fmt.Sprintf(format, args...)}
}

// compile compiles the instructions of a unit. Those that come before have their registers.
func (u *unit) compile(l *linker) error {
	var slot, pred int32 = 1, 1 // slot 0 is always zero, predicate 0 always false
	if u.index > 0 {
		before := l.units[u.index-1]
		slot, pred = before.slots[1], before.preds[1]
	}
	k := l.kernel
	if !u.kernel {
		k = &Kernel{Name: u.name}
	}
	c := &compiler{
		program: l.program, entry: u.fn, kernel: k, unit: u,
		preds: map[int]int32{}, consts: map[constant]int32{},
		params: map[string]int64{}, local: map[string]int64{}, shared: u.shared,
	}
	u.c, u.slots[0], u.preds[0] = c, slot, pred
	c.splitWide()
	c.placeFrame()
	c.placeFormals()
	// Ops are addressed by refs, so the slice must not move.
	k.code = make([]op, len(u.fn.Body)+1)
	for i := range u.fn.Body {
		c.index, c.in = i, &u.fn.Body[i]
		if err := c.compile(&k.code[i]); err != nil {
			return err
		}
	}
	// Running off the end is a return.
	end := &ptx.Inst{Line: u.fn.Line, Text: "end of " + u.name, Op: "ret", Loc: -1}
	k.code[len(u.fn.Body)] = op{kind: opControl, guard: -1, control: u.returns(), inst: end}
	c.index = len(u.fn.Body)
	c.useResults()
	c.bindCalls(l)
	c.keepAsync()
	c.keepTensorLoads()
	c.allocate()
	c.name()
	k.async = asyncRegisters(c.asyncs)
	u.slots[1], u.preds[1] = int32(k.regs), pred+int32(len(c.preds))
	return nil
}

// returns is what ret does.
func (u *unit) returns() func(w *warp, o *op, mask uint32) (verdict, error) {
	if u.kernel {
		return exitLanes
	}
	return returnLanes
}

// link puts the code of all units together, that of the kernel first.
func (l *linker) link() {
	k, last := l.kernel, l.units[len(l.units)-1]
	k.regs, k.preds = int(last.slots[1]), int(last.preds[1])
	for _, u := range l.units[1:] {
		u.entry = int32(len(k.code))
		u.takeFrameRegisters()
		for i := range u.c.kernel.code {
			o := &u.c.kernel.code[i]
			o.target += u.entry
			o.table = slices.Clone(o.table)
			for j := range o.table {
				o.table[j] += int(u.entry)
			}
		}
		k.code = append(k.code, u.c.kernel.code...)
		k.presets = append(k.presets, u.c.kernel.presets...)
		k.async = append(k.async, u.c.kernel.async...)
		k.copiesShared = k.copiesShared || u.c.kernel.copiesShared
		k.usesTensorCores = k.usesTensorCores || u.c.kernel.usesTensorCores
		k.usesHeap = k.usesHeap || u.c.kernel.usesHeap
	}
	k.frame, k.units = int(l.units[0].frame), l.units
	k.local = k.frame
	if len(l.units) > 1 {
		l.finishCalls()
	}
	k.findRuns()
	for _, u := range l.units {
		u.release(k.program.observed)
	}
}

// release drops what only compiling needs: half of the memory. Faults name the text and the place of instructions. Who
// observes asks how loaded values are tested, for which the operands are kept.
func (u *unit) release(observed bool) {
	u.c, u.fn.Regs = nil, nil
	if observed {
		return
	}
	for i := range u.fn.Body {
		u.fn.Body[i].Mods, u.fn.Body[i].Args = nil, nil
	}
}
