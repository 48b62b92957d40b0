package ptx

// parseEntry parses a kernel: its declaration, and the syntax of its body.
func (p *parser) parseEntry() error {
	e := &Entry{Function: Function{Line: p.tok.line}}
	p.advance()
	var err error
	if e.Name, err = p.word("a kernel name"); err != nil {
		return err
	}
	if e.Params, err = p.parseParams(); err != nil {
		return err
	}
	if err := p.parsePerformance(e); err != nil {
		return err
	}
	if p.accept(";") { // a declaration, which a definition follows
		return nil
	}
	switch {
	case p.entries[e.Name]:
		return p.errorf("kernel %s is defined twice", shorten(e.Name))
	case len(p.entries) == maxFunctions:
		return p.errorf("a module may have at most %d kernels", maxFunctions)
	}
	p.entries[e.Name] = true
	p.module.Entries = append(p.module.Entries, e)
	return p.checkBody(&e.Function)
}

// parseFunction parses a device function, or its declaration:
//
//	.func (.param .b32 result) name (.param .b64 x, .reg .b32 y) .noreturn
func (p *parser) parseFunction() error {
	f := &Function{Line: p.tok.line}
	p.advance()
	if err := p.skipAttributes(); err != nil {
		return err
	}
	var err error
	if f.Results, err = p.parseParams(); err != nil {
		return err
	}
	if f.Name, err = p.word("a function name"); err != nil {
		return err
	}
	if f.Params, err = p.parseParams(); err != nil {
		return err
	}
	var directives Entry
	if err := p.parsePerformance(&directives); err != nil {
		return err
	}
	f.NoReturn = directives.NoReturn
	if err := p.declareFunction(f); err != nil {
		return err
	}
	if p.accept(";") {
		return nil
	}
	if f = p.module.Functions[f.Name]; f.Defined {
		return p.errorf("function %s is defined twice", shorten(f.Name))
	}
	f.Defined = true
	return p.checkBody(f)
}

// declareFunction adds a function to the module. Declarations may be repeated; that with a body
// is the last, and names the parameters as the body does.
func (p *parser) declareFunction(f *Function) error {
	all := p.module.Functions
	first, known := all[f.Name]
	if !known {
		if len(all) == maxFunctions {
			return p.errorf("a module may have at most %d functions", maxFunctions)
		}
		f.Number = len(all)
		all[f.Name] = f
		return nil
	}
	if !SameSizes(first.Params, f.Params) || !SameSizes(first.Results, f.Results) {
		return p.errorf("function %s was declared with other parameters in line %d", shorten(f.Name), first.Line)
	}
	if !first.Defined {
		first.Params, first.Results, first.Line = f.Params, f.Results, f.Line
	}
	first.NoReturn = first.NoReturn || f.NoReturn
	return nil
}

// SameSizes reports whether two lists of parameters have as many, of the same sizes.
func SameSizes(a, b []*Var) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Size != b[i].Size {
			return false
		}
	}
	return true
}

// parseParams parses a list of parameters, if there is one.
func (p *parser) parseParams() ([]*Var, error) {
	var params []*Var
	if !p.accept("(") {
		return nil, nil
	}
	for !p.accept(")") {
		if len(params) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		v, err := p.parseParam()
		if err != nil {
			return nil, err
		}
		params = append(params, v)
	}
	return params, nil
}

// parseParam parses ".param .b32 x" or ".reg .b32 x".
func (p *parser) parseParam() (*Var, error) {
	register := p.accept(".reg")
	v, err := p.parseVar(false)
	if err != nil {
		return nil, err
	}
	if v.Register = register; register {
		v.Space = Param
	}
	if v.Space != Param {
		return nil, p.errorf("want a .param, found a .%s", v.Space)
	}
	return v, nil
}

// parseSignature parses ".callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;".
func (p *parser) parseSignature() (*Signature, error) {
	var (
		s   Signature
		err error
	)
	if s.Results, err = p.parseParams(); err != nil {
		return nil, err
	}
	if _, err = p.word("_"); err != nil {
		return nil, err
	}
	if s.Params, err = p.parseParams(); err != nil {
		return nil, err
	}
	var directives Entry
	if err := p.parsePerformance(&directives); err != nil {
		return nil, err
	}
	s.NoReturn = directives.NoReturn
	return &s, p.expect(";")
}

// parseAlias parses ".alias name, function;".
func (p *parser) parseAlias() error {
	p.advance()
	name, err := p.word("a name")
	if err != nil {
		return err
	}
	if err := p.expect(","); err != nil {
		return err
	}
	if p.module.Aliases[name], err = p.word("a function"); err != nil {
		return err
	}
	return p.expect(";")
}
