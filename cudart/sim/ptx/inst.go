package ptx

import "strings"

// parseInst parses labels and one instruction:
//
//	label: @!p setp.lt.and.s32 p|q, a, b, r;
func (p *parser) parseInst(b *body) error {
	in := Inst{Line: p.tok.line, Guard: Guard{Reg: -1}}
	start := p.tok.pos
	if p.accept("@") {
		if err := p.parseGuard(b, &in); err != nil {
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
	parts := strings.Split(word, ".")
	in.Op, in.Mods = parts[0], parts[1:]
	for !p.accept(";") {
		if len(in.Args) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		arg, err := p.parseOperand(b)
		if err != nil {
			return err
		}
		if arg.Kind == Symbol {
			b.scope().loose = append(b.scope().loose, looseName{len(b.entry.Body), len(in.Args)})
		}
		in.Args = append(in.Args, arg)
		if p.tok.kind == tokEOF || len(in.Args) > 64 {
			return p.errorf("an instruction does not end in ;")
		}
	}
	// The token after the semicolon is read already; the text ends where it does.
	text, _, _ := strings.Cut(p.lex.src[start:], ";")
	in.Text = squeeze(text)
	b.entry.Body = append(b.entry.Body, in)
	return nil
}

func (p *parser) parseGuard(b *body, in *Inst) error {
	in.Guard.Negate = p.accept("!")
	name, err := p.word("a predicate")
	if err != nil {
		return err
	}
	reg, ok := b.register(name)
	if !ok || b.entry.Regs[reg].Type.Class != Pred {
		return p.errorf("%q is not a predicate", shorten(name))
	}
	in.Guard.Reg = reg
	return nil
}

// parseLabel takes what follows "name:", which is nothing or a table of
// branch targets.
func (p *parser) parseLabel(b *body, name string) error {
	if !p.accept(".branchtargets") {
		if _, twice := b.scope().labels[name]; twice {
			return p.errorf("label %q is defined twice", shorten(name))
		}
		b.scope().labels[name] = len(b.entry.Body)
		return nil
	}
	for {
		target, err := p.word("a label")
		if err != nil {
			return err
		}
		b.tables[name] = append(b.tables[name], target)
		if p.accept(";") {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}
