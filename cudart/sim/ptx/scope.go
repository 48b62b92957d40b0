package ptx

import (
	"fmt"
	"strconv"
)

// scope has maps that are nil until something is put in.
type scope struct {
	regs       map[string]int    // index in Regs
	ranges     map[string]regSet // prefix of ".reg .b32 %r<47>"
	vectors    map[string]int    // elements of vector registers
	labels     map[string]int    // index in Body
	vars       map[string]string // unique names of variables, where they differ
	signatures map[string]*Signature
	loose      []looseName // names used here that are not registers
	bytes      int64       // of .param variables, those of the scopes around included
}

type regSet struct {
	count int
	typ   Type
}

// looseName is an operand that may turn out to be a label.
type looseName struct{ inst, arg int }

// register finds a register by name. Members of a range get their index when
// they are first used, so that a huge range costs nothing.
func (b *body) register(name string) (reg int, typ Type, ok bool) {
	end := len(name)
	for end > 0 && classes[name[end-1]]&digit != 0 {
		end--
	}
	prefix := name[:end]
	number, err := strconv.Atoi(name[end:])
	for i := len(b.scopes) - 1; i >= 0; i-- {
		s := b.scopes[i]
		if reg, ok := s.regs[name]; ok {
			return reg, b.Regs[reg].Type, true
		}
		set, ok := s.ranges[prefix]
		switch {
		case !ok || err != nil || number >= set.count:
		case b.check:
			return 0, set.typ, true
		default:
			return b.declare(s, name, set.typ), set.typ, true
		}
	}
	return 0, Type{}, false
}

func (b *body) declare(s *scope, name string, typ Type) int {
	put(&s.regs, name, len(b.Regs))
	b.Regs = append(b.Regs, Reg{Name: name, Type: typ})
	return s.regs[name]
}

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

func (b *body) scope() *scope { return b.scopes[len(b.scopes)-1] }

func (b *body) push() {
	n := len(b.scopes)
	if n == cap(b.scopes) || b.scopes[:n+1][n] == nil {
		b.scopes = append(b.scopes, &scope{})
	} else { // one that was closed
		b.scopes = b.scopes[:n+1]
		*b.scopes[n] = scope{}
	}
	if n > 0 {
		b.scope().bytes = b.scopes[n-1].bytes
	}
}

// pop closes a scope: names that are its labels become targets, the others
// are left to the scope around it.
func (b *body) pop() {
	s := b.scope()
	b.scopes = b.scopes[:len(b.scopes)-1]
	for _, loose := range s.loose {
		op := &b.Body[loose.inst].Args[loose.arg]
		if target, ok := s.labels[op.Name]; ok {
			*op = Operand{Kind: Label, Target: target}
		} else if table, ok := b.branchTable(s, op.Name); ok {
			*op = Operand{Kind: Targets, Table: table}
		} else if signature, ok := s.signatures[op.Name]; ok {
			*op = Operand{Kind: Callees, Signature: signature}
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

// addVar adds a variable to the innermost scope. It reports whether the name was free there. A name that is
// taken elsewhere in the function is made one that cannot be written in PTX.
func (b *body) addVar(v *Var) bool {
	s := b.scope()
	if _, twice := s.vars[v.Name]; twice {
		return false
	}
	put(&s.vars, v.Name, b.unique(v.Name))
	if b.check {
		return true
	}
	v.Name = s.vars[v.Name]
	if v.Space == Param {
		v.Offset = (s.bytes + int64(v.Align) - 1) / int64(v.Align) * int64(v.Align)
		s.bytes = v.Offset + v.Size
		b.CallBytes = max(b.CallBytes, s.bytes)
	}
	b.Vars = append(b.Vars, v)
	return true
}

// unique counts a name.
func (b *body) unique(name string) string {
	if b.check {
		return name
	}
	put(&b.names, name, b.names[name]+1)
	if n := b.names[name]; n > 1 {
		return fmt.Sprintf("%s#%d", name, n)
	}
	return name
}

// variable is the unique name of what name means here.
func (b *body) variable(name string) string {
	for i := len(b.scopes) - 1; i >= 0; i-- {
		if unique, ok := b.scopes[i].vars[name]; ok {
			return unique
		}
	}
	return name
}
