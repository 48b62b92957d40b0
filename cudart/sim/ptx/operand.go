package ptx

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// parseOperand parses one operand. Names that are not registers stay symbols
// until the end of the body, when labels are known.
func (p *parser) parseOperand(b *body) (Operand, error) {
	switch {
	case p.accept("{"):
		return p.parseVector(b)
	case b.call && p.accept("("):
		return p.parseList(b)
	case p.accept("["):
		return p.parseAddress(b)
	case p.accept("!"):
		op, err := p.parseName(b)
		if err == nil && op.Kind != Register {
			err = p.errorf("only a predicate can be negated")
		}
		op.Negate = true
		return op, err
	case p.accept("_"):
		return p.parsePair(b, Operand{Kind: Sink})
	case p.tok.kind == tokWord:
		return p.parseName(b)
	}
	if p.is("-") {
		lex, tok := p.lex, p.tok
		p.advance()
		if p.tok.kind == tokWord {
			return p.negative(b)
		}
		p.lex, p.tok = lex, tok
	}
	return p.number()
}

// maxElements is how long a vector operand may be: an accumulator of wgmma has 128.
const (
	maxElements    = 128
	maxCoordinates = 3 // parts of an address, its base included
)

func (p *parser) parseVector(b *body) (Operand, error) {
	elems, err := p.parseElements(b, "}")
	return Operand{Kind: Vector, Elems: elems}, err
}

// parseList parses the arguments or the results of a call, of which there may be none.
func (p *parser) parseList(b *body) (Operand, error) {
	if p.accept(")") {
		return Operand{Kind: List}, nil
	}
	elems, err := p.parseElements(b, ")")
	return Operand{Kind: List, Elems: elems}, err
}

// parseElements parses operands up to the closing bracket.
func (p *parser) parseElements(b *body, closing string) ([]Operand, error) {
	base := len(p.stack)
	for {
		elem, err := p.parseScalar(b)
		if err != nil {
			return nil, err
		}
		if p.stack = append(p.stack, elem); len(p.stack)-base > maxElements {
			return nil, p.errorf("an operand has too many elements")
		}
		if p.accept(closing) {
			return p.unstack(b, base), nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// unstack takes operands off the stack. Where only the syntax is checked, nobody wants them.
func (p *parser) unstack(b *body, base int) []Operand {
	var elems []Operand
	if !b.check {
		elems = slices.Clone(p.stack[base:])
	}
	p.stack = p.stack[:base]
	return elems
}

func (p *parser) parseScalar(b *body) (Operand, error) {
	if p.is("{") || p.is("[") || b.call && p.is("(") {
		return Operand{}, p.errorf("operands cannot be nested")
	}
	return p.parseOperand(b)
}

func (p *parser) parseAddress(b *body) (Operand, error) {
	base, err := p.parseScalar(b)
	if err != nil {
		return base, err
	}
	op := Operand{Kind: Address, Offset: base.Offset} // parseName took that of a symbol
	if base.Offset = 0; base.Kind != Symbol {
		if op.Offset, err = p.offset(); err != nil {
			return op, err
		}
	}
	at := len(p.stack)
	p.stack = append(p.stack, base)
	for p.accept(",") { // coordinates in a tensor or a texture, and the sampler of a texture
		more, err := p.parseCoordinates(b)
		if err != nil {
			return op, err
		}
		if p.stack = append(p.stack, more); len(p.stack)-at > maxCoordinates {
			return op, p.errorf("an address has too many parts")
		}
	}
	op.Elems = p.unstack(b, at)
	return op, p.expect("]")
}

func (p *parser) parseCoordinates(b *body) (Operand, error) {
	if p.accept("{") {
		return p.parseVector(b)
	}
	return p.parseScalar(b)
}

// parseName parses a register, a pair p|q, a special register, or a symbol.
func (p *parser) parseName(b *body) (Operand, error) {
	name, err := p.word("a name")
	if err != nil {
		return Operand{}, err
	}
	if elems, ok := b.vector(name); ok {
		return Operand{Kind: Vector, Elems: elems}, nil
	}
	if reg, _, ok := b.register(name); ok {
		return p.parsePair(b, Operand{Kind: Register, Reg: reg})
	}
	if op, ok := p.selected(b, name); ok {
		return op, nil
	}
	switch {
	case name == "WARP_SZ":
		return Operand{Kind: Immediate, Bits: 32}, nil
	case strings.HasPrefix(name, "%"):
		return Operand{Kind: Special, Name: name}, nil
	}
	offset, err := p.offset()
	return Operand{Kind: Symbol, Name: b.variable(name), Offset: offset}, err
}

func (p *parser) parsePair(b *body, first Operand) (Operand, error) {
	if !p.accept("|") {
		return first, nil
	}
	second, err := p.parseScalar(b)
	if err != nil {
		return second, err
	}
	if second.Kind != Register && second.Kind != Sink {
		return second, p.errorf("the second destination must be a register")
	}
	if b.check {
		return Operand{Kind: Pair}, nil
	}
	return Operand{Kind: Pair, Elems: []Operand{first, second}}, nil
}

// offset parses "+8", "-8", "+-8", "+4*2", or nothing.
func (p *parser) offset() (int64, error) {
	if !p.is("+") && !p.is("-") {
		return 0, nil
	}
	p.accept("+")
	n, err := p.binary(additive, 0)
	return int64(n), err
}

// number parses an immediate: a float with an optional sign, or a constant expression.
func (p *parser) number() (Operand, error) {
	if p.tok.kind == tokNumber {
		if op, ok := parseFloat(p.tok.text, false); ok {
			p.advance()
			return op, nil
		}
	}
	if p.is("-") {
		lex, tok := p.lex, p.tok
		p.advance()
		if op, ok := parseFloat(p.tok.text, true); ok && p.tok.kind == tokNumber {
			p.advance()
			return op, nil
		}
		p.lex, p.tok = lex, tok
	}
	if p.tok.kind != tokNumber && !p.is("-") && !p.is("~") && !p.is("(") {
		return Operand{}, p.errorf("want an operand, found %s", p.found())
	}
	n, err := p.constant()
	return Operand{Kind: Immediate, Bits: n}, err
}

// parseFloat understands 0f3F800000, 0d3FF0000000000000 and 1.5.
func parseFloat(text string, negative bool) (Operand, bool) {
	kind, width := Float32, 32
	switch {
	case len(text) == 10 && (text[:2] == "0f" || text[:2] == "0F"):
	case len(text) == 18 && (text[:2] == "0d" || text[:2] == "0D"):
		kind, width = Float64, 64
	case strings.Contains(text, ".") && !strings.HasPrefix(text, "0x"):
		f, err := strconv.ParseFloat(text, 64)
		if negative {
			f = -f
		}
		return Operand{Kind: Float64, Bits: math.Float64bits(f)}, err == nil
	default:
		return Operand{}, false
	}
	bits, err := strconv.ParseUint(text[2:], 16, width)
	if negative {
		bits ^= 1 << (width - 1)
	}
	return Operand{Kind: kind, Bits: bits}, err == nil
}

// integer parses an unsigned literal: decimal, octal, 0x, 0b, with or without U.
func (p *parser) integer() (uint64, error) {
	if p.tok.kind != tokNumber {
		return 0, p.errorf("want a number, found %s", p.found())
	}
	n, err := strconv.ParseUint(strings.TrimRight(p.tok.text, "uU"), 0, 64)
	if err != nil {
		return 0, p.errorf("not a number: %s", p.found())
	}
	p.advance()
	return n, nil
}
