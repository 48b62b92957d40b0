package ptx

import "strings"

// Constant expressions (PTX ISA, "Integer Constant Expression Evaluation"): integers of 64 bits, with the
// operators of C, except for comparisons and logic, which no compiler writes.

// operators are the binary ones by precedence, the weakest first.
var operators = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

// additive is the precedence of + and -.
const additive = 4

// maxNesting bounds the brackets of an expression.
const maxNesting = 64

// constant parses an expression.
func (p *parser) constant() (uint64, error) { return p.binary(0, 0) }

// binary parses operators of a precedence or a stronger one, within so many brackets.
func (p *parser) binary(precedence, depth int) (uint64, error) {
	if precedence == len(operators) {
		return p.unary(depth)
	}
	a, err := p.binary(precedence+1, depth)
	for err == nil {
		operator := p.acceptOperator(operators[precedence])
		if operator == "" {
			return a, nil
		}
		var b uint64
		if b, err = p.binary(precedence+1, depth); err == nil {
			a, err = p.apply(operator, a, b)
		}
	}
	return a, err
}

// acceptOperator takes one of the operators, which may be two tokens, or returns "".
func (p *parser) acceptOperator(list []string) string {
	if p.tok.kind != tokPunct && !p.is("%") {
		return ""
	}
	for _, operator := range list {
		if strings.HasPrefix(p.lex.src[p.tok.pos:], operator) {
			for range operator {
				p.advance()
			}
			return operator
		}
	}
	return ""
}

func (p *parser) unary(depth int) (uint64, error) {
	switch {
	case depth == maxNesting:
		return 0, p.errorf("an expression is nested deeper than %d", maxNesting)
	case p.accept("-"):
		n, err := p.unary(depth + 1)
		return -n, err
	case p.accept("~"):
		n, err := p.unary(depth + 1)
		return ^n, err
	case p.accept("("):
		n, err := p.binary(0, depth+1)
		if err != nil {
			return 0, err
		}
		return n, p.expect(")")
	}
	return p.integer()
}

func (p *parser) apply(operator string, a, b uint64) (uint64, error) {
	x, y := int64(a), int64(b)
	switch operator {
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	case "&":
		return a & b, nil
	case "<<":
		return a << min(b, 64), nil
	case ">>":
		return uint64(x >> min(b, 63)), nil
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if y == 0 {
		return 0, p.errorf("a constant is divided by 0")
	}
	if operator == "/" {
		return uint64(x / y), nil
	}
	return uint64(x % y), nil
}
