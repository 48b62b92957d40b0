package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// Calls. A function has registers of its own in the warp's file, and for each call a frame in
// local memory, behind that of its caller: parameters, results, .local variables. A lane has a stack
// of the places to return to. So lanes that were called from different places may run together, and a
// return parts them.
//
// A function that may be called again before it has returned loses its registers: such calls save the
// caller's.

// callee is a function that a kernel may call.
type callee struct {
	name            string
	entry           int32 // its first op
	frame           int64 // bytes
	params, results []place
	// frames are the registers that hold addresses in the frame: a call sets them.
	frames []frameRegister
}

// place is where a parameter or a result is kept: a register, or bytes of a frame.
type place struct {
	slot  int32 // or -1
	at    int64 // in the frame of its side
	bytes int64
}

type frameRegister struct {
	slot   int32
	offset uint64
}

// callSite is a call instruction.
type callSite struct {
	at       int // index of the op in its unit
	unit     *unit
	names    []string           // functions that it may call
	targets  map[uint64]*callee // by offset among the functions
	indirect bool               // a register has the address
	last     *callee            // the only one, if not indirect
	external *external          // instead: a function of the system

	args, results []place

	// What the call may overwrite, by calling the caller: from the first up to the second.
	saved bool
	slots [2]int32
	preds [2]int32
}

// candidates are the names of the functions that a call may find.
func (p *Program) candidates(in *ptx.Inst) []string {
	parts := p.callParts(in)
	switch {
	case parts.function.Kind == ptx.Symbol:
		return []string{parts.function.Name}
	case parts.signature == nil:
		return nil
	case parts.signature.Targets != nil:
		return parts.signature.Targets
	}
	var all []string
	for _, f := range p.addressed {
		if ptx.SameSizes(f.Params, parts.signature.Params) && ptx.SameSizes(f.Results, parts.signature.Results) {
			all = append(all, f.Name)
		}
	}
	return all
}

// callParts are the operands of a call:
//
//	call (results), function, (arguments), signature;
type callParts struct {
	results, args []ptx.Operand
	function      ptx.Operand
	signature     *ptx.Signature // nil where there is none
}

func (p *Program) callParts(in *ptx.Inst) callParts {
	parts, rest := callParts{function: ptx.Operand{Kind: ptx.Sink}}, in.Args
	if len(rest) > 1 && rest[0].Kind == ptx.List {
		parts.results, rest = rest[0].Elems, rest[1:]
	}
	if len(rest) > 0 {
		parts.function, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && rest[0].Kind == ptx.List {
		parts.args, rest = rest[0].Elems, rest[1:]
	}
	if len(rest) == 1 {
		parts.signature = p.signature(rest[0])
	}
	return parts
}

// signature is what a .callprototype or .calltargets says, or a variable that is a table of functions.
func (p *Program) signature(o ptx.Operand) *ptx.Signature {
	if o.Kind != ptx.Symbol {
		return o.Signature
	}
	for _, v := range p.module.Vars {
		if v.Name == o.Name && len(v.Refs) > 0 {
			s := &ptx.Signature{}
			for _, r := range v.Refs {
				s.Targets = append(s.Targets, r.Symbol)
			}
			return s
		}
	}
	return nil
}

// call compiles call{.uni}.
func (c *compiler) call(o *op) {
	c.take("uni")
	parts := c.program.callParts(c.in)
	function, signature := parts.function, parts.signature
	site := &callSite{at: c.index, unit: c.unit}
	o.kind = opControl
	var params, results []*ptx.Var
	switch {
	case function.Kind == ptx.Symbol:
		site.names = []string{function.Name}
		f, ok := c.program.module.Function(function.Name)
		if !ok {
			c.undefined(function.Name)
			return
		}
		params, results = f.Params, f.Results
		if !f.Defined {
			c.callExternal(o, site, f)
		}
	case function.Kind == ptx.Register && signature != nil:
		site.names, site.indirect = c.program.candidates(c.in), true
		params, results = c.signatureOf(signature)
		c.srcOperand(&o.a, function, b64)
	default:
		c.fail("call needs a function, or a register and a .callprototype, .calltargets or table of functions")
		return
	}
	if len(params) != len(parts.args) || len(results) != len(parts.results) {
		c.fail("the call has %d arguments and %d results, and the function %d and %d", len(parts.args), len(parts.results),
			len(params), len(results))
		return
	}
	site.args, site.results = make([]place, len(params)), make([]place, len(results))
	rest := variadic(params)
	for i, v := range params {
		if v == rest {
			c.variadicArgument(&site.args[i], parts.args[i])
		} else {
			c.argument(&site.args[i], parts.args[i], v, false)
		}
	}
	for i, v := range results {
		c.argument(&site.results[i], parts.results[i], v, true)
	}
	if site.external == nil {
		o.control = site.call
	}
	c.unit.sites = append(c.unit.sites, site)
}

// signatureOf are the parameters and results of an indirect call.
func (c *compiler) signatureOf(s *ptx.Signature) (params, results []*ptx.Var) {
	if s.Targets == nil {
		return s.Params, s.Results
	}
	for i, name := range s.Targets {
		f, ok := c.program.module.Function(name)
		switch {
		case !ok || !f.Defined:
			c.undefined(name)
			return nil, nil
		case i == 0:
			params, results = f.Params, f.Results
		case !ptx.SameSizes(f.Params, params) || !ptx.SameSizes(f.Results, results):
			c.fail("the functions of .calltargets have different parameters")
		}
	}
	return params, results
}

// argument compiles one argument or result: a .param variable, a register, or a literal.
func (c *compiler) argument(to *place, arg ptx.Operand, v *ptx.Var, written bool) {
	*to = place{slot: -1, bytes: v.Size}
	if at, ok := c.local[arg.Name]; ok && arg.Kind == ptx.Symbol {
		for _, w := range slices.Concat(c.entry.Vars, c.entry.Params, c.entry.Results) {
			if w.Name == arg.Name && w.Size < v.Size {
				c.fail("%s has %d bytes, and %s takes %d", arg.Name, w.Size, v.Name, v.Size)
			}
		}
		to.at = at
		return
	}
	if v.Size > 8 {
		c.fail("%d bytes of %s do not fit into a register", v.Size, v.Name)
	}
	if written {
		c.dstOperand(&to.slot, arg, v.Type)
	} else {
		c.srcOperand(&to.slot, arg, v.Type)
	}
}

// undefined refuses a name that the module does not define.
func (c *compiler) undefined(name string) {
	for _, v := range c.program.module.Vars {
		switch {
		case v.Name != name:
		case v.Opaque != "":
			c.fail("%q is a %s: textures and surfaces are not implemented", name, v.Opaque)
		case v.Extern:
			c.fail("%q is extern, and this module does not define it; link the modules into one", name)
		}
	}
	if f, ok := c.program.module.Function(name); ok && !f.Defined {
		c.fail("%s", undefinedFunction(name))
	}
	c.fail("%q is not defined", name)
}
