package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// Variadic functions. The last parameter of such a function is an array without bounds, and a call passes a variable of
// any size for it. The function's frame has room for the largest one that a call of the kernel passes.

// variadic returns the parameter without bounds; nil if there is none.
func variadic(params []*ptx.Var) *ptx.Var {
	if n := len(params); n > 0 && params[n-1].Size == 0 && !params[n-1].Register {
		return params[n-1]
	}
	return nil
}

// sizeVariadics gives the parameters without bounds their sizes, in the units' own trees.
func (l *linker) sizeVariadics() {
	sizes := make([]int64, len(l.units))
	for grew := true; grew; { // an argument may be the caller's own parameter without bounds
		grew = false
		for _, u := range l.units {
			for i := range u.fn.Body {
				if in := &u.fn.Body[i]; in.Op == "call" && l.growVariadics(sizes, u, in) {
					grew = true
				}
			}
		}
	}
	for _, u := range l.units[1:] {
		if v := variadic(u.fn.Params); v != nil {
			sized := *v
			sized.Size = sizes[u.index]
			u.fn.Params = append(slices.Clone(u.fn.Params[:len(u.fn.Params)-1]), &sized)
		}
	}
}

// growVariadics enlarges the sizes of what a call by u may find to that of its last argument, and reports whether one
// grew.
func (l *linker) growVariadics(sizes []int64, u *unit, call *ptx.Inst) (grew bool) {
	args := l.program.callParts(call).args
	if len(args) == 0 {
		return false
	}
	v := u.variable(args[len(args)-1])
	if v == nil {
		return false
	}
	size := v.Size
	if v == variadic(u.fn.Params) {
		size = sizes[u.index]
	}
	for _, name := range l.program.candidates(call) {
		f, ok := l.program.module.Function(name)
		if !ok || l.byName[f.Name] == nil || variadic(f.Params) == nil {
			continue
		}
		if n := &sizes[l.byName[f.Name].index]; size > *n {
			*n, grew = size, true
		}
	}
	return grew
}

// variable finds the .param variable or parameter that an argument names; nil if it names none.
func (u *unit) variable(arg ptx.Operand) *ptx.Var {
	if arg.Kind != ptx.Symbol {
		return nil
	}
	for _, v := range slices.Concat(u.fn.Vars, u.fn.Params, u.fn.Results) {
		if v.Name == arg.Name {
			return v
		}
	}
	return nil
}

// variadicArgument compiles the argument for a parameter without bounds.
func (c *compiler) variadicArgument(to *place, arg ptx.Operand) {
	at, ok := c.local[arg.Name]
	v := c.unit.variable(arg)
	if !ok || v == nil {
		c.fail("a parameter without bounds takes a .param variable")
		return
	}
	*to = place{slot: -1, at: at, bytes: v.Size}
}
