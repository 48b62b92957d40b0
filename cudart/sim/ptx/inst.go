package ptx

import (
	"slices"
	"strings"
)

const maxOperands = 64

// parseInst parses labels and one instruction:
//
//	label: @!p setp.lt.and.s32 p|q, a, b, r;
func (p *parser) parseInst(b *body) error {
	in := Inst{Line: p.tok.line, Loc: b.loc, Guard: Guard{Reg: -1}}
	start := p.tok.pos
	if p.accept("@") {
		var err error
		if in.Guard, err = p.parseGuard(b); err != nil {
			return err
		}
	}
	word, err := p.word("an instruction")
	if err != nil {
		return err
	}
	if in.Guard.Reg < 0 && p.accept(":") {
		return p.parseLabel(b, word)
	}
	if b.count++; b.count > maxInstructions {
		return p.errorf("a function may have at most %d instructions", maxInstructions)
	}
	p.stack = p.stack[:0]
	b.call = strings.HasPrefix(word, "call")
	for !p.accept(";") {
		if len(p.stack) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		arg, err := p.parseOperand(b)
		if err != nil {
			return err
		}
		if arg.Kind == Symbol && b.check && strings.HasPrefix(word, "mov") {
			p.module.Addressed[arg.Name] = true
		}
		if arg.Kind == Symbol && !b.check {
			b.scope().loose = append(b.scope().loose, looseName{len(b.Body), len(p.stack)})
		}
		p.stack = append(p.stack, arg)
		if p.tok.kind == tokEOF || len(p.stack) > maxOperands {
			return p.errorf("an instruction does not end in ;")
		}
	}
	if b.check {
		return nil
	}
	parts := strings.Split(word, ".")
	in.Op, in.Mods, in.Args = parts[0], parts[1:], slices.Clone(p.stack)
	// The token after the semicolon is read already; the text ends where it does.
	in.Text, _, _ = strings.Cut(p.lex.src[start:], ";")
	b.Body = append(b.Body, in)
	return nil
}

func (p *parser) parseGuard(b *body) (Guard, error) {
	negate := p.accept("!")
	name, err := p.word("a predicate")
	if err != nil {
		return Guard{}, err
	}
	reg, typ, ok := b.register(name)
	if !ok || typ.Class != Pred {
		return Guard{}, p.errorf("%q is not a predicate", shorten(name))
	}
	return Guard{reg, negate}, nil
}

// parseLabel takes what follows "name:": nothing, a table of branch targets, or what an indirect call
// may find.
func (p *parser) parseLabel(b *body, name string) error {
	switch s := b.scope(); {
	case p.accept(".branchtargets"):
		targets, err := p.words("a label")
		put(&b.tables, name, targets)
		return err
	case p.accept(".calltargets"):
		targets, err := p.words("a function")
		put(&s.signatures, name, &Signature{Targets: targets})
		return err
	case p.accept(".callprototype"):
		signature, err := p.parseSignature()
		put(&s.signatures, name, signature)
		return err
	default:
		if _, twice := s.labels[name]; twice {
			return p.errorf("label %q is defined twice", shorten(name))
		}
		put(&s.labels, name, b.count)
		return nil
	}
}

// words reads a list of names and its semicolon.
func (p *parser) words(what string) ([]string, error) {
	var list []string
	for {
		name, err := p.word(what)
		if err != nil {
			return nil, err
		}
		list = append(list, name)
		if p.accept(";") {
			return list, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}
