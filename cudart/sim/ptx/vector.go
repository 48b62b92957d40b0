package ptx

import "strings"

// Vector registers. ".reg .v4 .f32 v;" declares v.x, v.y, v.z and v.w, which are v.r, v.g, v.b and v.a, too. The name v
// stands for all of them, in braces.

// vectorSizes are the numbers of elements of a vector, by modifier.
var vectorSizes = map[string]int64{".v2": 2, ".v4": 4}

const (
	vectorParts = "xyzw"
	vectorHues  = "rgba"
)

// declareVector declares a register with so many elements.
func (p *parser) declareVector(b *body, name string, typ Type, n int64) error {
	if int(n)*typ.Width() > 128 || typ.Class == Pred {
		return p.errorf("a register cannot have %d elements of type %s; 128 bits are possible", n, typ)
	}
	if b.declared += int(n); b.declared > maxDeclared {
		return p.errorf("a function may have at most %d registers", maxDeclared)
	}
	s := b.scope()
	for i := range int(n) {
		reg := b.declare(s, name+"."+vectorParts[i:i+1], typ)
		s.regs[name+"."+vectorHues[i:i+1]] = reg
	}
	put(&s.vectors, name, int(n))
	b.vectors = true
	return nil
}

// vector finds a vector register by name.
func (b *body) vector(name string) (elems []Operand, ok bool) {
	for i := len(b.scopes) - 1; i >= 0 && b.vectors; i-- {
		s := b.scopes[i]
		if n, ok := s.vectors[name]; ok {
			for _, part := range strings.Split(vectorParts[:n], "") {
				elems = append(elems, Operand{Kind: Register, Reg: s.regs[name+"."+part]})
			}
			return elems, true
		}
		if _, hidden := s.regs[name]; hidden {
			return nil, false
		}
	}
	return nil, false
}
