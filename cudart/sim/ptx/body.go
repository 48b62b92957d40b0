package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// body is the function being parsed. Registers, variables and labels belong to the scope
// in which they are declared; inline assembly and calls open scopes of their own.
type body struct {
	*Function
	check    bool // only the syntax is wanted: no tree is made
	scopes   []*scope
	tables   map[string][]string // .branchtargets lists by label
	names    map[string]int      // how many variables have a name
	count    int                 // instructions so far
	declared int                 // registers that were not declared as a range
	loc      int                 // of the instructions that follow: an index in Locs, or -1
}

// scope has maps that are nil until something is put in.
type scope struct {
	regs       map[string]int    // index in Regs
	ranges     map[string]regSet // prefix of ".reg .b32 %r<47>"
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
	return &tree, p.parseBody(&body{Function: &tree, tables: map[string][]string{}, loc: -1})
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

// parsePerformance reads the tuning directives between parameters and body.
// Only the sizes of blocks and clusters matter to execution.
func (p *parser) parsePerformance(e *Entry) error {
	for strings.HasPrefix(p.tok.text, ".") && p.tok.kind == tokWord {
		name := p.advance().text
		product := 1
		for p.tok.kind == tokNumber {
			n, err := p.integer()
			if err != nil {
				return err
			}
			product = int(min(uint64(product)*min(n, 1<<20), 1<<20))
			p.accept(",")
		}
		if p.tok.kind == tokString {
			p.advance()
			p.accept(";")
		}
		switch name {
		case ".maxntid", ".reqntid":
			e.MaxThreads = product
		case ".reqnctapercluster":
			e.Cluster = product
		case ".maxclusterrank":
			e.MaxCluster = product
		case ".minnctapersm":
			e.MinBlocks = product
		case ".noreturn":
			e.NoReturn = true
		}
	}
	return nil
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
