package ptx

import (
	"strconv"
	"strings"
)

// body is the kernel being parsed. Registers and labels belong to the scope
// in which they are declared; inline assembly opens scopes of its own.
type body struct {
	entry  *Entry
	scopes []*scope
	tables map[string][]string // .branchtargets lists by label
}

type scope struct {
	regs   map[string]int    // index in entry.Regs
	ranges map[string]regSet // prefix of ".reg .b32 %r<47>"
	labels map[string]int    // index in entry.Body
	loose  []looseName       // names used here that are not registers
}

type regSet struct {
	count int
	typ   Type
}

// looseName is an operand that may turn out to be a label.
type looseName struct{ inst, arg int }

// register finds a register by name. Members of a range get their index when
// they are first used, so that a huge range costs nothing.
func (b *body) register(name string) (int, bool) {
	prefix := strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(prefix):])
	for i := len(b.scopes) - 1; i >= 0; i-- {
		s := b.scopes[i]
		if reg, ok := s.regs[name]; ok {
			return reg, true
		}
		if set, ok := s.ranges[prefix]; ok && err == nil && number < set.count {
			return b.declare(s, name, set.typ), true
		}
	}
	return 0, false
}

func (b *body) declare(s *scope, name string, typ Type) int {
	s.regs[name] = len(b.entry.Regs)
	b.entry.Regs = append(b.entry.Regs, Reg{Name: name, Type: typ})
	return s.regs[name]
}

func (b *body) scope() *scope { return b.scopes[len(b.scopes)-1] }

func (b *body) push() {
	b.scopes = append(b.scopes, &scope{
		regs: map[string]int{}, ranges: map[string]regSet{}, labels: map[string]int{},
	})
}

// pop closes a scope: names that are its labels become targets, the others
// are left to the scope around it.
func (b *body) pop() {
	s := b.scope()
	b.scopes = b.scopes[:len(b.scopes)-1]
	for _, loose := range s.loose {
		op := &b.entry.Body[loose.inst].Args[loose.arg]
		if target, ok := s.labels[op.Name]; ok {
			*op = Operand{Kind: Label, Target: target}
		} else if table, ok := b.branchTable(s, op.Name); ok {
			*op = Operand{Kind: Targets, Table: table}
		} else if len(b.scopes) > 0 {
			b.scope().loose = append(b.scope().loose, loose)
		}
	}
}

func (b *body) branchTable(s *scope, name string) ([]int, bool) {
	var table []int
	for _, label := range b.tables[name] {
		target, ok := s.labels[label]
		if !ok {
			return nil, false
		}
		table = append(table, target)
	}
	return table, len(table) > 0
}

func (p *parser) parseEntry() error {
	e := &Entry{Line: p.tok.line}
	p.advance()
	var err error
	if e.Name, err = p.word("a kernel name"); err != nil {
		return err
	}
	for _, other := range p.module.Entries {
		if other.Name == e.Name {
			return p.errorf("kernel %s is defined twice", shorten(e.Name))
		}
	}
	if err := p.parseParams(e); err != nil {
		return err
	}
	if err := p.parsePerformance(e); err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	b := &body{entry: e, tables: map[string][]string{}}
	b.push()
	p.module.Entries = append(p.module.Entries, e)
	return p.parseBody(b)
}

func (p *parser) parseParams(e *Entry) error {
	if !p.accept("(") {
		return nil
	}
	for !p.accept(")") {
		if len(e.Params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		v, err := p.parseVar(false)
		if err != nil {
			return err
		}
		if v.Space != Param {
			return p.errorf("want a .param, found a .%s", v.Space)
		}
		e.Params = append(e.Params, v)
	}
	return nil
}

func (p *parser) parseBody(b *body) error {
	for len(b.scopes) > 0 {
		switch {
		case p.tok.kind == tokEOF:
			return p.errorf("the body of %s is not closed", shorten(b.entry.Name))
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
	if !strings.HasPrefix(p.tok.text, ".") || p.tok.kind != tokWord {
		return p.parseInst(b)
	}
	switch p.tok.text {
	case ".reg":
		return p.parseRegs(b)
	case ".loc", ".file":
		return p.skipDebugLine()
	case ".pragma":
		return p.skipStatement()
	}
	v, err := p.parseVar(false)
	if err != nil {
		return err
	}
	b.entry.Vars = append(b.entry.Vars, v)
	return p.expect(";")
}

// parseRegs parses ".reg .b32 %r<47>, %x;".
func (p *parser) parseRegs(b *body) error {
	p.advance()
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
		if p.accept("<") {
			n, err := p.integer()
			if err != nil {
				return err
			}
			b.scope().ranges[name] = regSet{int(min(n, 1<<30)), typ}
			if err := p.expect(">"); err != nil {
				return err
			}
		} else {
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
