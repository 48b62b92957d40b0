package ptx

import "strings"

// selected parses a register with a part of it, such as %r1.h0: video instructions work on parts.
func (p *parser) selected(b *body, name string) (Operand, bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 || !isPart(name[at+1:]) {
		return Operand{}, false
	}
	reg, _, ok := b.register(name[:at])
	return Operand{Kind: Register, Reg: reg, Part: name[at+1:]}, ok
}

// isPart recognizes h and b with the numbers of halves or bytes.
func isPart(text string) bool {
	return text != "" && (text[0] == 'h' || text[0] == 'b') && strings.Trim(text[1:], "01234567") == "" && len(text) > 1
}

// negative parses what follows a minus sign that belongs to no number: a register that vmad negates.
func (p *parser) negative(b *body) (Operand, error) {
	op, err := p.parseName(b)
	if err == nil && op.Kind != Register {
		err = p.errorf("only a number or a register can be negative")
	}
	op.Minus = true
	return op, err
}

// Whole reports whether o is a register as a whole, neither selected from nor negated.
func (o Operand) Whole() bool {
	return o.Kind == Register && !o.Negate && !o.Minus && o.Part == ""
}
