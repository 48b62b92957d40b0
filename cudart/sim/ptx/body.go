package ptx

import "slices"

import "strings"

// body is the function being parsed. Registers, variables and labels belong to the scope
// in which they are declared; inline assembly and calls open scopes of their own.
type body struct {
	*Function
	check    bool // only the syntax is wanted: no tree is made
	vectors  bool // there are vector registers
	call     bool // the instruction is a call, whose brackets hold lists
	scopes   []*scope
	tables   map[string][]string // .branchtargets lists by label
	names    map[string]int      // how many variables have a name
	count    int                 // instructions so far
	declared int                 // registers that were not declared as a range
	loc      int                 // of the instructions that follow: an index in Locs, or -1
}

// checkBody checks the syntax of a body, from its opening brace to its end.
func (p *parser) checkBody(f *Function) error {
	if !p.is("{") {
		return p.expect("{")
	}
	f.from = mark{p.lex.pos, p.lex.line}
	p.advance()
	scratch := *f // gets what is declared, but no instructions
	return p.parseBody(&body{Function: &scratch, check: true, loc: -1})
}

// Read makes the tree of a function that is defined, or of the kernel to which it belongs. f itself is
// left as it is.
func (m *Module) Read(f *Function) (*Function, error) {
	p := &parser{lex: lexer{src: m.src, pos: f.from.pos, line: f.from.line}, module: m}
	p.advance()
	tree := *f
	err := p.parseBody(&body{Function: &tree, tables: map[string][]string{}, loc: -1})
	tree.Body = slices.Clone(tree.Body) // which is large, without room to grow
	return &tree, err
}

// parseBody parses what follows the opening brace.
func (p *parser) parseBody(b *body) error {
	b.push()
	for _, list := range [][]*Var{b.Results, b.Params} {
		for _, v := range list {
			b.unique(v.Name)
			if v.Register {
				b.declare(b.scope(), v.Name, v.Type)
			}
		}
	}
	for len(b.scopes) > 0 {
		switch {
		case p.tok.kind == tokEOF:
			return p.errorf("the body of %s is not closed", shorten(b.Name))
		case p.accept("{"):
			if len(b.scopes) == maxScopes {
				return p.errorf("scopes are nested deeper than %d", maxScopes)
			}
			b.push()
		case p.is("}"):
			b.pop()
			p.advance()
		case p.accept(";"):
		default:
			if err := p.parseStatement(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) parseStatement(b *body) error {
	if p.tok.kind != tokWord || p.tok.text[0] != '.' {
		return p.parseInst(b)
	}
	switch p.tok.text {
	case ".reg":
		return p.parseRegs(b)
	case ".loc":
		return p.parseBodyLoc(b)
	case ".file":
		return p.parseFile()
	case ".pragma":
		return p.skipStatement()
	}
	v, err := p.parseVar(false)
	if err != nil {
		return err
	}
	if !b.addVar(v) {
		return p.errorf("variable %q is declared twice", shorten(v.Name))
	}
	return p.expect(";")
}

// parseRegs parses ".reg .b32 %r<47>, %x;".
func (p *parser) parseRegs(b *body) error {
	p.advance()
	elements := vectorSizes[p.tok.text]
	if elements > 0 {
		p.advance()
	}
	typ, ok := ParseType(strings.TrimPrefix(p.tok.text, "."))
	if !ok {
		return p.errorf("unknown register type %s", p.found())
	}
	p.advance()
	for {
		name, err := p.word("a register name")
		if err != nil {
			return err
		}
		if elements > 0 {
			if err := p.declareVector(b, name, typ, elements); err != nil {
				return err
			}
		} else if p.accept("<") {
			n, err := p.integer()
			if err != nil {
				return err
			}
			put(&b.scope().ranges, name, regSet{int(min(n, 1<<30)), typ})
			if err := p.expect(">"); err != nil {
				return err
			}
		} else {
			if b.declared++; b.declared > maxDeclared {
				return p.errorf("a function may have at most %d registers", maxDeclared)
			}
			b.declare(b.scope(), name, typ)
		}
		if p.accept(";") {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}
