package exec

import (
	"maps"
	"slices"

	"gpurun/cudart/sim/ptx"
)

// SharedOf is the static shared memory of a kernel, also of one that cannot be compiled, and whether it uses
// dynamic shared memory, too.
func (p *Program) SharedOf(e *ptx.Entry) (bytes int, dynamic bool, err error) {
	l := &linker{program: p, kernel: &Kernel{}, byName: map[string]*unit{}}
	if err := l.collect(&e.Function); err != nil {
		return 0, false, err
	}
	l.sizeVariadics()
	if err := l.layout(); err != nil {
		return 0, false, err
	}
	for _, v := range p.module.Vars {
		dynamic = dynamic || v.Space == ptx.Shared && v.Extern && l.mentions(v.Name)
	}
	return l.kernel.Shared, dynamic, nil
}

// layout gives every variable in shared memory its offset, and every unit its frame in local memory.
func (l *linker) layout() error {
	var params int64
	reserved := l.reservedShared()
	shared := reserved
	for _, v := range l.units[0].fn.Params {
		params = align(params, int64(v.Align)) + v.Size
	}
	dynamic := l.layoutShared(&shared)
	start := int64(16)
	for _, v := range dynamic {
		start = max(start, int64(v.Align))
	}
	k := l.kernel
	k.dynamic, k.reserved = int(align(shared, start)), int(reserved)
	for _, v := range dynamic {
		for _, u := range l.units {
			u.shared[v.Name] = int64(k.dynamic)
		}
	}
	var local int64
	k.frameAlign = frameAlignment(l.units)
	for _, u := range l.units {
		u.frame = frameBytes(u, k.frameAlign)
		local = max(local, u.frame)
	}
	k.ParamBytes, k.Shared = int(params), int(shared-reserved)
	return l.checkSizes(params, shared-reserved, local)
}

// checkSizes refuses what no GPU has room for, as ptxas does.
func (l *linker) checkSizes(params, shared, local int64) error {
	for _, size := range []struct {
		bytes, most int64
		what        string
	}{
		{params, maxParams, "of parameters"},
		{shared, MaxSharedBytes, "of shared memory"},
		{local, maxLocal, "of local memory per thread"},
	} {
		if size.bytes > size.most {
			return l.refuse(l.units[0].fn, "the kernel has %d bytes, and %d are possible, %s", size.bytes, size.most, size.what)
		}
	}
	return nil
}

// layoutShared places the static variables, and returns those that are dynamic.
func (l *linker) layoutShared(end *int64) (dynamic []*ptx.Var) {
	place := func(offsets map[string]int64, v *ptx.Var) {
		*end = align(*end, int64(v.Align))
		offsets[v.Name] = *end
		*end += v.Size
	}
	module := map[string]int64{}
	for _, v := range l.program.module.Vars {
		switch {
		case v.Space != ptx.Shared:
		case v.Extern:
			dynamic = append(dynamic, v)
		case l.mentions(v.Name):
			place(module, v)
		}
	}
	for _, u := range l.units {
		u.shared = maps.Clone(module)
		for _, v := range u.fn.Vars {
			switch {
			case v.Space != ptx.Shared:
			case v.Extern:
				dynamic = append(dynamic, v)
			default:
				place(u.shared, v)
			}
		}
	}
	return dynamic
}

// mentions reports whether the kernel uses a variable; shared variables of
// other kernels take no space in this one.
func (l *linker) mentions(name string) bool {
	uses := func(o ptx.Operand) bool { return o.Kind == ptx.Symbol && o.Name == name }
	for _, u := range l.units {
		for i := range u.fn.Body {
			for _, arg := range u.fn.Body[i].Args {
				if uses(arg) || slices.ContainsFunc(arg.Elems, uses) {
					return true
				}
			}
		}
	}
	return false
}

// frameVars calls place for the variables that live in a unit's frame. Those of calls come last: their
// places are relative to the first return value, the end of the others.
func frameVars(u *unit, place func(v *ptx.Var, at int64)) (end int64) {
	put := func(v *ptx.Var) {
		if !v.Register {
			end = align(end, int64(v.Align))
			place(v, end)
			end += v.Size
		}
	}
	if !u.kernel {
		for _, v := range slices.Concat(u.fn.Params, u.fn.Results) {
			put(v)
		}
	}
	for _, v := range u.fn.Vars {
		if v.Space == ptx.Local {
			put(v)
		}
	}
	end = align(end, minFrameAlign)
	for _, v := range u.fn.Vars {
		if v.Space == ptx.Param {
			place(v, end+v.Offset)
		}
	}
	return end + u.fn.CallBytes
}

// frameAlignment is the alignment of the frames of units, which all of them have: that of the variable that needs
// most.
func frameAlignment(units []*unit) int64 {
	most := int64(minFrameAlign)
	for _, u := range units {
		frameVars(u, func(v *ptx.Var, _ int64) { most = max(most, int64(v.Align)) })
	}
	return most
}

// frameBytes is the size of a unit's frame, a multiple of the alignment. That of a function is never 0: GPUs keep
// the return address there.
func frameBytes(u *unit, alignment int64) int64 {
	n := align(frameVars(u, func(*ptx.Var, int64) {}), alignment)
	if u.kernel {
		return n
	}
	return max(n, alignment)
}

// placeFrame makes the variables of the frame known by name.
func (c *compiler) placeFrame() {
	frameVars(c.unit, func(v *ptx.Var, at int64) { c.local[v.Name] = at })
	var params int64
	if c.unit.kernel {
		for _, v := range c.entry.Params {
			params = align(params, int64(v.Align))
			c.params[v.Name] = params
			params += v.Size
		}
	}
}

// frameSpace is the state space of an access. Parameters of functions and of calls, .param::func, are in
// the frame, in local memory; those of a kernel are not.
func (c *compiler) frameSpace(space ptx.Space, arg ptx.Operand) ptx.Space {
	if space != ptx.Param || arg.Kind != ptx.Address {
		return space
	}
	if base := arg.Elems[0]; base.Kind == ptx.Symbol {
		if _, ok := c.local[base.Name]; ok {
			return ptx.Local
		}
	} else if !c.unit.kernel {
		return ptx.Local
	}
	return space
}
