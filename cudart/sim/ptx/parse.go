package ptx

import (
	"strconv"
	"strings"
)

// Limits that keep a hostile module from using unbounded memory.
const (
	maxScopes       = 64
	maxVarBytes     = 1 << 30
	maxFunctions    = 1 << 15 // and as many kernels
	maxInstructions = 1 << 20 // of a function
	maxDeclared     = 1 << 16 // registers of a function, those declared as a range not counted
	maxRelocs       = 1 << 16 // of a variable
	maxDimensions   = 16      // of an array
	maxPadding      = 1 << 26 // bytes that initializers of a module leave out in rows
)

// Parse parses one PTX module. The name is used in errors, which are of type
// *Error.
func Parse(name string, src []byte) (*Module, error) {
	if err := notText(name, src); err != nil {
		return nil, err
	}
	m := &Module{
		Name: name, Functions: map[string]*Function{}, Aliases: map[string]string{}, Addressed: map[string]bool{},
		Files: map[int]string{}, src: string(src),
	}
	p := &parser{lex: lexer{src: m.src, line: 1}, module: m, entries: map[string]bool{}}
	p.advance()
	if err := p.parseModule(); err != nil {
		return nil, err
	}
	return p.module, nil
}

// parser holds one token of lookahead.
type parser struct {
	lex     lexer
	tok     token
	module  *Module
	entries map[string]bool // names of the kernels so far
	stack   []Operand       // operands of the instruction that is being parsed
	padding int64           // bytes of maxPadding that are used
}

func (p *parser) advance() token {
	t := p.tok
	p.tok = p.lex.next()
	return t
}

func (p *parser) is(text string) bool { return p.tok.kind != tokString && p.tok.text == text }

// accept takes the token if it reads text.
func (p *parser) accept(text string) bool {
	if p.tok.kind == tokEOF || !p.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.errorf("want %q, found %s", text, p.found())
	}
	return nil
}

func (p *parser) word(what string) (string, error) {
	if p.tok.kind != tokWord {
		return "", p.errorf("want %s, found %s", what, p.found())
	}
	return p.advance().text, nil
}

func (p *parser) found() string {
	if p.tok.kind == tokEOF {
		return "the end of the file"
	}
	return strconv.Quote(shorten(p.tok.text))
}

func (p *parser) parseModule() error {
	for p.tok.kind != tokEOF {
		if err := p.parseTopLevel(); err != nil {
			return err
		}
	}
	if p.module.Target == "" {
		return p.errorf("the module names no .target")
	}
	return nil
}

func (p *parser) parseTopLevel() error {
	switch p.tok.text {
	case ".version":
		return p.parseVersion()
	case ".target":
		return p.parseTarget()
	case ".address_size":
		p.advance()
		if !p.accept("64") {
			return p.errorf("only 64-bit addresses are supported")
		}
		return nil
	case ".file":
		return p.parseFile()
	case ".loc":
		_, _, err := p.parseLoc()
		return err
	case "@":
		return p.skipDebugLine()
	case ".section":
		return p.skipSection()
	case ".pragma":
		return p.skipStatement()
	case ".alias":
		return p.parseAlias()
	}
	return p.parseDeclaration()
}

func (p *parser) parseVersion() error {
	p.advance()
	major, minor, ok := strings.Cut(p.tok.text, ".")
	var errs [2]error
	p.module.Major, errs[0] = strconv.Atoi(major)
	p.module.Minor, errs[1] = strconv.Atoi(minor)
	if !ok || errs[0] != nil || errs[1] != nil {
		return p.errorf("want a version such as 7.8, found %s", p.found())
	}
	p.advance()
	return nil
}

func (p *parser) parseTarget() error {
	p.advance()
	number, ok := strings.CutPrefix(p.tok.text, "sm_")
	digits := strings.TrimRight(number, "af")
	sm, err := strconv.Atoi(digits)
	feature := number[len(digits):]
	if !ok || err != nil || len(feature) > 1 {
		return p.errorf("want a target such as sm_80 or sm_90a, found %s", p.found())
	}
	p.module.Target, p.module.SM, p.module.Feature = p.advance().text, sm, feature
	for p.accept(",") {
		if _, err := p.word("a target option"); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) skipStatement() error {
	for !p.accept(";") {
		if p.tok.kind == tokEOF {
			return p.errorf("a statement does not end in ;")
		}
		p.advance()
	}
	return nil
}

// parseDeclaration parses what begins with a linkage: a variable, a kernel, or
// a device function.
func (p *parser) parseDeclaration() error {
	extern := false
	for {
		switch p.tok.text {
		case ".visible", ".weak", ".common":
		case ".extern":
			extern = true
		case ".entry":
			return p.parseEntry()
		case ".func":
			return p.parseFunction()
		default:
			v, err := p.parseVar(extern)
			if err != nil {
				return err
			}
			p.module.Vars = append(p.module.Vars, v)
			return p.expect(";")
		}
		p.advance()
	}
}
