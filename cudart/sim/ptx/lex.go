package ptx

import "strings"

type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokWord             // identifier, register, opcode with modifiers, directive
	tokNumber           // as written, without a sign
	tokString           // without the quotes
	tokPunct            // one character
)

type token struct {
	kind tokenKind
	text string
	line int
	pos  int // byte offset in the source
}

// lexer cuts PTX into tokens. An opcode with its modifiers is one word, and
// so is a label, without its colon.
type lexer struct {
	src  string
	pos  int
	line int
}

func (l *lexer) next() token {
	l.skipBlank()
	t := token{line: l.line, pos: l.pos}
	if l.pos >= len(l.src) {
		return t
	}
	start, c := l.pos, l.src[l.pos]
	switch {
	case isDigit(c):
		t.kind = tokNumber
		l.skip(isNumberByte)
		if l.pos < len(l.src) && l.src[l.pos] == '.' { // a decimal float
			l.pos++
			l.skip(isNumberByte)
		}
	case isWordStart(c):
		t.kind = tokWord
		l.skipWord()
	case c == '"':
		t.kind = tokString
		return l.quoted(t)
	default:
		t.kind = tokPunct
		l.pos++
	}
	t.text = l.src[start:l.pos]
	return t
}

func (l *lexer) skipBlank() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.pos++
		case strings.HasPrefix(rest, "//"):
			l.skip(func(c byte) bool { return c != '\n' })
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				end = len(rest) - 4
			}
			comment := rest[:max(end+4, 2)]
			l.line += strings.Count(comment, "\n")
			l.pos += len(comment)
		default:
			return
		}
	}
}

// skipWord also takes "::", which joins the parts of a modifier, but no
// single colon, which ends a label.
func (l *lexer) skipWord() {
	l.pos++
	for {
		l.skip(isWordByte)
		if !strings.HasPrefix(l.src[l.pos:], "::") {
			return
		}
		l.pos += 2
	}
}

func (l *lexer) quoted(t token) token {
	start := l.pos + 1
	end := strings.IndexAny(l.src[start:], "\"\n")
	if end < 0 {
		end = len(l.src) - start
	}
	t.text = l.src[start : start+end]
	l.pos = min(start+end+1, len(l.src))
	if l.src[l.pos-1] == '\n' {
		l.pos--
	}
	return t
}

func (l *lexer) skip(while func(byte) bool) {
	for l.pos < len(l.src) && while(l.src[l.pos]) {
		l.pos++
	}
}

// skipLine moves to the end of the current line.
func (l *lexer) skipLine() { l.skip(func(c byte) bool { return c != '\n' }) }

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWordStart(c byte) bool {
	return isLetter(c) || c == '_' || c == '$' || c == '%' || c == '.'
}

func isWordByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c == '.'
}

func isNumberByte(c byte) bool { return isLetter(c) || isDigit(c) }
