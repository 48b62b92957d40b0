package ptx

import (
	"slices"
	"strings"
)

// Var is a variable or a parameter.
type Var struct {
	Name   string
	Space  Space
	Type   Type  // of one element
	Align  int   // bytes
	Size   int64 // bytes; 0 for an extern array without bounds
	Extern bool
	// Register: a parameter of a function that is a register.
	Register bool
	// Pointer: a parameter that .ptr says is an address.
	Pointer bool
	// Opaque is the kind of a texture, surface or sampler reference, such as "texref", which has no bytes.
	Opaque string
	Init   []byte  // initial bytes; the rest is zero
	Refs   []Reloc // addresses in Init
	Offset int64   // of a .param variable of a body: its place among them
	Line   int
}

// Reloc is an address in an initializer: that of a variable or a function plus Addend, shifted right
// by Shift bits, as mask() takes it.
type Reloc struct {
	Symbol string
	Offset int64 // in the variable
	Addend int64
	Bytes  uint8
	Shift  uint8
}

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
		n, ok := vectorSizes[p.tok.text]
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
		v.Align = max(int(bytes), 1)
	}
	var rows []int64
	if v.Size, rows, err = p.parseBounds(bytes); err != nil {
		return nil, err
	}
	if elems > 1 || len(rows) == 0 { // a scalar may be in braces, too
		rows = append(rows, int64(v.Type.Width()/8))
	}
	switch {
	case !p.accept("="):
	case v.Opaque != "":
		err = p.skipBraces()
	default:
		err = p.parseInit(v, rows)
	}
	if v.Size == 0 {
		v.Size = int64(len(v.Init)) // of "name[] = {1, 2, 3}"
	}
	return v, err
}

// parseVarType reads space, alignment, attributes and type, in any order, as
// far as they go.
func (p *parser) parseVarType(v *Var) error {
	for v.Type.Bits == 0 && v.Opaque == "" {
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
		case name == "texref" || name == "samplerref" || name == "surfref" || name == "tex":
			v.Opaque = name
		case name == "attribute":
			if err := p.skipAttributes(); err != nil {
				return err
			}
			continue
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
	return p.parsePointerHint(v)
}

// skipAttributes skips ".attribute(.managed)" and ".attribute(.unified(1, 2))", if they are there: all memory
// of the simulator is managed.
func (p *parser) skipAttributes() error {
	for p.accept(".attribute") {
		depth := 0
		for first := true; first || depth > 0; first = false {
			switch {
			case p.tok.kind == tokEOF:
				return p.errorf("an .attribute is not closed")
			case p.is("("):
				depth++
			case p.is(")"):
				depth--
			}
			p.advance()
		}
	}
	return nil
}

// parsePointerHint parses ".ptr .global .align 16", of which space and alignment are promises to the optimizer.
func (p *parser) parsePointerHint(v *Var) error {
	if !p.accept(".ptr") {
		return nil
	}
	v.Pointer = true
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

// parseBounds returns the size in bytes of a variable whose elements have the given size; "name[]" has
// size 0. The rows are the sizes of an element of the whole array, of an element of that, and so on.
func (p *parser) parseBounds(elem int64) (size int64, rows []int64, err error) {
	var bounds []int64
	for p.accept("[") {
		switch {
		case len(bounds) == maxDimensions:
			return 0, nil, p.errorf("an array may have at most %d dimensions", maxDimensions)
		case p.accept("]"):
			if len(bounds) > 0 {
				return 0, nil, p.errorf("only the first bound of an array may be left out")
			}
			bounds = append(bounds, 0)
			continue
		}
		n, err := p.constant()
		if err != nil {
			return 0, nil, err
		}
		bounds = append(bounds, int64(min(n, maxVarBytes+1)))
		if err := p.expect("]"); err != nil {
			return 0, nil, err
		}
	}
	size, rows = elem, make([]int64, len(bounds))
	for i, n := range slices.Backward(bounds) {
		rows[i] = size
		if size *= n; size > maxVarBytes {
			return 0, nil, p.errorf("a variable may have at most %d bytes", maxVarBytes)
		}
	}
	return size, rows, nil
}
