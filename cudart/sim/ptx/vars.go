package ptx

import "strings"

// parseVar parses a variable declaration up to, and without, its semicolon:
//
//	.global .align 16 .b8 name[64] = {1, 2, other+4}
func (p *parser) parseVar(extern bool) (*Var, error) {
	v := &Var{Line: p.tok.line, Extern: extern}
	if err := p.parseVarType(v); err != nil {
		return nil, err
	}
	elems := int64(1)
	if strings.HasPrefix(p.tok.text, ".v") {
		n, ok := map[string]int64{".v2": 2, ".v4": 4}[p.tok.text]
		if !ok {
			return nil, p.errorf("unknown vector type %s", p.found())
		}
		elems = n
		p.advance()
		if err := p.parseVarType(v); err != nil {
			return nil, err
		}
	}
	name, err := p.word("a variable name")
	if err != nil {
		return nil, err
	}
	v.Name = name
	bytes := elems * int64(v.Type.Width()/8)
	if v.Align == 0 {
		v.Align = int(bytes)
	}
	if v.Size, err = p.parseBounds(bytes); err != nil {
		return nil, err
	}
	if p.accept("=") {
		err = p.parseInit(v)
	}
	return v, err
}

// parseVarType reads space, alignment, attributes and type, in any order, as
// far as they go.
func (p *parser) parseVarType(v *Var) error {
	for v.Type.Bits == 0 {
		name, ok := strings.CutPrefix(p.tok.text, ".")
		if !ok || p.tok.kind != tokWord {
			return p.errorf("want a declaration, found %s", p.found())
		}
		if strings.HasPrefix(name, "v") {
			return nil
		}
		space, isSpace := ParseSpace(name)
		typ, isType := ParseType(name)
		switch {
		case isSpace:
			v.Space = space
		case isType && typ.Class != Pred:
			v.Type = typ
		case name == "align":
			p.advance()
			n, err := p.integer()
			if err != nil {
				return err
			}
			if n == 0 || n > 1<<20 || n&(n-1) != 0 {
				return p.errorf("an alignment must be a power of two up to 2^20")
			}
			v.Align = int(n)
			continue
		default:
			return p.errorf("unknown declaration %q", shorten(p.tok.text))
		}
		p.advance()
	}
	return p.skipPointerHint()
}

// skipPointerHint skips ".ptr .global .align 16", a promise to the optimiser.
func (p *parser) skipPointerHint() error {
	if !p.accept(".ptr") {
		return nil
	}
	for {
		_, isSpace := ParseSpace(strings.TrimPrefix(p.tok.text, "."))
		switch {
		case isSpace:
			p.advance()
		case p.accept(".align"):
			if _, err := p.integer(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// parseBounds returns the size in bytes of a variable whose elements have the
// given size; "name[]" has size 0.
func (p *parser) parseBounds(elem int64) (int64, error) {
	size := elem
	for p.accept("[") {
		if p.accept("]") {
			size = 0
			continue
		}
		n, err := p.integer()
		if err != nil {
			return 0, err
		}
		if n > maxVarBytes || size*int64(n) > maxVarBytes {
			return 0, p.errorf("a variable may have at most %d bytes", maxVarBytes)
		}
		size *= int64(n)
		if err := p.expect("]"); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// parseInit reads an initialiser; nested braces only group.
func (p *parser) parseInit(v *Var) error {
	if !p.is("{") {
		return p.parseDatum(v)
	}
	for depth := 0; ; {
		switch {
		case p.accept("{"):
			depth++
		case p.accept("}"):
			if depth--; depth == 0 {
				return nil
			}
		case p.accept(","):
		default:
			if err := p.parseDatum(v); err != nil {
				return err
			}
		}
	}
}

func (p *parser) parseDatum(v *Var) error {
	if int64(len(v.Init)+1)*int64(v.Type.Width()/8) > v.Size {
		return p.errorf("the initialiser of %s is longer than its %d bytes", shorten(v.Name), v.Size)
	}
	if p.tok.kind != tokWord {
		n, err := p.number()
		v.Init = append(v.Init, Datum{Bits: n.Bits})
		return err
	}
	name := p.advance().text
	generic := name == "generic" && p.accept("(")
	if generic {
		name = p.advance().text
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	offset, err := p.offset()
	v.Init = append(v.Init, Datum{Symbol: name, Bits: uint64(offset)})
	return err
}
