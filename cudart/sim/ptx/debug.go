package ptx

// Debug information: .file and .loc are kept, sections and DWARF are skipped.

// maxLocs is how far back the place of a call is looked for.
const maxLocs = 256

// parseFile parses ".file 1 "kernel.cu", timestamp, size".
func (p *parser) parseFile() error {
	p.advance()
	number, err := p.integer()
	if err != nil {
		return err
	}
	if p.tok.kind != tokString {
		return p.errorf("want the name of a file, found %s", p.found())
	}
	p.module.Files[int(number)] = p.advance().text
	for p.accept(",") {
		if _, err := p.integer(); err != nil {
			return err
		}
	}
	return nil
}

// parseLoc parses ".loc file line column", and where the code was inlined, if it was:
//
//	.loc 1 12 3, function_name $L__info_string0+16, inlined_at 1 40 7
func (p *parser) parseLoc() (at Loc, caller *Loc, err error) {
	p.advance()
	if at, err = p.place(); err != nil {
		return at, nil, err
	}
	for p.accept(",") {
		what, err := p.word("function_name or inlined_at")
		if err != nil {
			return at, nil, err
		}
		switch what {
		case "inlined_at":
			inlined, err := p.place()
			if err != nil {
				return at, nil, err
			}
			caller = &inlined
		case "function_name":
			if _, err := p.word("a label"); err != nil {
				return at, nil, err
			}
			if _, err := p.offset(); err != nil {
				return at, nil, err
			}
		default:
			return at, nil, p.errorf(".loc knows no %s", shorten(what))
		}
	}
	return at, caller, nil
}

// place reads the numbers of file, line and column.
func (p *parser) place() (Loc, error) {
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = p.integer(); err != nil {
			return Loc{}, err
		}
	}
	return Loc{File: int(n[0]), Line: int(n[1]), Inlined: -1}, nil
}

// parseBodyLoc is parseLoc for the instructions that follow.
func (p *parser) parseBodyLoc(b *body) error {
	at, caller, err := p.parseLoc()
	if err != nil || b.check {
		return err
	}
	if caller != nil {
		at.Inlined = b.callerLoc(*caller)
	}
	b.loc = len(b.Locs)
	b.Locs = append(b.Locs, at)
	return nil
}

// callerLoc finds the place of a call, which may have been inlined itself.
func (b *body) callerLoc(at Loc) int {
	for i := len(b.Locs) - 1; i >= max(0, len(b.Locs)-maxLocs); i-- {
		if b.Locs[i].File == at.File && b.Locs[i].Line == at.Line {
			return i
		}
	}
	b.Locs = append(b.Locs, at)
	return len(b.Locs) - 1
}

// skipDebugLine skips "@@DWARF ..." of old compilers: it leaves the lexer at the first token of the
// next line.
func (p *parser) skipDebugLine() error {
	p.lex.pos = p.tok.pos
	p.lex.skipLine()
	p.advance()
	return nil
}

func (p *parser) skipSection() error {
	for !p.is("{") {
		if p.tok.kind == tokEOF {
			return p.errorf("a .section has no body")
		}
		p.advance()
	}
	return p.skipBraces()
}

// skipBraces skips a balanced { ... }.
func (p *parser) skipBraces() error {
	for depth := 0; ; {
		switch {
		case p.tok.kind == tokEOF:
			return p.errorf("a { is not closed")
		case p.is("{"):
			depth++
		case p.is("}"):
			depth--
		}
		p.advance()
		if depth == 0 {
			return nil
		}
	}
}
