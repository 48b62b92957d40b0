package exec

import (
	"slices"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// LoadObserved is Load for grids with an [Observer]. Accesses to memory are never part of a run of assembly. A plain
// program has no trace of observation in its code, so that it costs nothing there.
func LoadObserved(m *ptx.Module) (*Program, error) {
	p, err := Load(m)
	if err == nil {
		p.observed = true
	}
	return p, err
}

// observe wraps an op whose effect others may see, so that it tells the observer. An instruction that is in no list
// here counts as unmodeled: a new one is not passed over in silence.
func (c *compiler) observe(o *op) {
	if c.err != nil || o.kind != opRun && o.kind != opControl {
		return
	}
	has := func(mod string) bool { return slices.Contains(c.in.Mods, mod) }
	switch name := c.in.Op; {
	case slices.Contains(privateOps, name), o.warpSync:
		c.observeMeeting(o)
	case name == "st" && has("bulk"):
		observeBulkStore(o)
	case (name == "ld" || name == "st" || name == "atom" || name == "red") && !has("async") && !has("const"):
		c.observeAccess(o)
	case name == "ld" && has("const"): // no kernel writes there
	case (name == "fence" || name == "membar") && !has("proxy") && !has("mbarrier_init"):
		c.observeFence(o)
	case (name == "bar" || name == "barrier") && !has("cluster"):
		arrive := o.control
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
			if w.grid.cfg.EachAccess && w.endsBefore(&ObservedAccess{Kind: Updates}, mask) {
				return 0, errBeforeSync
			}
			if id, _, err := w.barrierArguments(o, mask); err == nil {
				w.grid.cfg.Observer.Arrive(w.site(), id)
			}
			return arrive(w, o, mask)
		}
	case name == "barrier":
		c.observeClusterBarrier(o)
	case name == "griddepcontrol":
		c.observePriorGrid(o)
	default:
		c.observeAsync(o)
	}
}

// privateOps are the instructions that touch nothing but registers, local memory and control flow.
var privateOps = []string{
	"mov", "cvt", "cvta", "isspacep", "prmt", "shfl", "vote", "match", "activemask", "redux", "elect", "selp", "bra",
	"brx", "call", "ret", "exit", "nanosleep", "pmevent", "trap", "brkpt", "prefetch", "prefetchu", "createpolicy",
	"applypriority", "mma", "movmatrix", "setmaxnreg", "stacksave", "stackrestore", "alloca",
	"addc", "subc", "madc", "bfi", "mapa", "getctarank", "add", "sub", "mad", "setp", "set", "lop3", "testp", "and", "or", "xor", "not",
}

// observeAccess makes an access tell which addresses it has accessed.
func (c *compiler) observeAccess(o *op) {
	if region := o.mem.bias >> RegionShift; region == localWindow>>RegionShift || region == paramWindow>>RegionShift {
		return
	}
	kind := Reads
	switch c.in.Op {
	case "st":
		kind = Writes
	case "atom", "red":
		kind = Updates
	}
	shape := ObservedAccess{
		Kind: kind, Order: o.mem.order.name, Scope: o.mem.order.scope, Bytes: o.mem.size,
		Elements: max(1, len(o.mem.vector)), ReadOnly: slices.Contains(c.in.Mods, "nc"), Reduction: c.in.Op == "red",
	}
	if kind == Updates && shape.Order == "" {
		shape.Order = "relaxed"
	}
	if o.mem.whole || kind == Updates && len(o.mem.vector) == 2 && o.mem.size == 8 { // .b128
		shape.Bytes, shape.Elements = 16, 1
	}
	access, strong := o.run, shape.Order != "" && shape.Order != "weak"
	compares := kind == Writes && !strong && !o.mem.whole
	swaps := kind == Updates && slices.Contains(c.in.Mods, "cas") && shape.Bytes <= 8
	o.run = func(w *warp, o *op, mask uint32) error {
		w.expandLanes(o.a)
		a, bias := &w.grid.observed, o.mem.bias
		*a = shape
		for i, base := range &w.regs[o.a] { // before a load that overwrites the address
			a.Addresses[i] = base + bias
		}
		if (strong || w.grid.cfg.EachAccess) && w.endsBefore(a, mask) {
			return errBeforeSync
		}
		var expected *lanes
		if swaps {
			w.expandLanes(o.b)
			copied := w.regs[o.b] // before a result that overwrites it
			expected = &copied
		}
		if compares {
			a.Unchanged = w.unchanged(o, mask)
		}
		if err := access(w, o, mask); err != nil {
			return err
		}
		a.Failed = swaps && w.differs(o.d, expected, mask)
		for m := mask; m != 0; m &= m - 1 {
			if lane := lowest(m); observable(a.Addresses[lane]) {
				a.Lanes |= 1 << lane
			}
		}
		if many := w.multicastLanes(a); many != 0 { // an access to each member; other kinds of access fault
			a.Lanes &^= many
			w.observeMembers(*a, many, &a.Addresses)
		}
		if a.Lanes != 0 {
			w.grid.cfg.Observer.Access(w.site(), a)
		}
		return nil
	}
}

// unchanged are the lanes that are about to store what is there already.
func (w *warp) unchanged(o *op, mask uint32) (same uint32) {
	w.expandOperands(o)
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		p, err := w.writable(o, w.regs[o.a][lane], lane)
		if err != nil {
			return 0 // the store says what is wrong
		}
		differs := false
		for k, slot := range o.mem.vector {
			there := readPlain(unsafe.Add(p, uint64(k)*o.mem.size), o.mem.size)
			differs = differs || there != w.regs[slot][lane]&widthMask(int(8*o.mem.size))
		}
		if !differs {
			same |= 1 << lane
		}
	}
	return same
}

// differs reports whether all lanes have other values in a register.
func (w *warp) differs(slot int32, values *lanes, mask uint32) bool {
	w.expandLanes(slot)
	for m := mask; m != 0; m &= m - 1 {
		if lane := lowest(m); w.regs[slot][lane] == values[lane] {
			return false
		}
	}
	return true
}

// observable reports whether others than the thread itself can write to an address.
func observable(addr uint64) bool {
	region := addr >> RegionShift
	return region != localWindow>>RegionShift && region != paramWindow>>RegionShift
}

func (c *compiler) observeFence(o *op) {
	order, scope := "sc", "" // membar is fence.sc
	for _, m := range c.in.Mods {
		switch m {
		case "sc", "acq_rel", "acquire", "release":
			order = m
		case "gl":
			scope = "gpu"
		case "cta", "cluster", "gpu", "sys":
			scope = m
		}
	}
	if c.in.Op == "fence" && !slices.Contains(c.in.Mods, order) {
		order = "acq_rel"
	}
	fence := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		if err := fence(w, o, mask); err != nil {
			return err
		}
		at := w.site()
		at.Lanes = mask
		w.grid.cfg.Observer.Fence(at, order, scope)
		return nil
	}
}

// observeUnmodeled makes an op tell that it is executed.
func observeUnmodeled(o *op) {
	run, control := o.run, o.control
	if o.kind == opRun {
		o.run = func(w *warp, o *op, mask uint32) error {
			w.grid.cfg.Observer.Unmodeled(w.site())
			return run(w, o, mask)
		}
		return
	}
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		w.grid.cfg.Observer.Unmodeled(w.site())
		return control(w, o, mask)
	}
}
