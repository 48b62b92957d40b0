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

// token is a part of the source: its text is no copy.
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

// class is what a byte may be, as bits.
type class uint8

const (
	wordByte   class = 1 << iota // inside of a word
	wordStart                    // at its start
	digit                        // at the start of a number
	numberByte                   // inside of one
	blank
)

var classes = classify()

func classify() (all [256]class) {
	set := func(bytes string, c class) {
		for i := range len(bytes) {
			all[bytes[i]] |= c
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set(letters, wordByte|wordStart|numberByte)
	set("0123456789", wordByte|digit|numberByte)
	set("_$.", wordByte|wordStart)
	set("%", wordStart)
	set(" \t\r\n", blank)
	return all
}

func (l *lexer) next() token {
	l.skipBlank()
	t := token{line: l.line, pos: l.pos}
	if l.pos >= len(l.src) {
		return t
	}
	start := l.pos
	switch c := classes[l.src[start]]; {
	case c&wordStart != 0:
		t.kind = tokWord
		l.skipWord()
	case c&digit != 0:
		t.kind = tokNumber
		l.skipNumber()
	case l.src[start] == '"':
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
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.line++
			l.pos++
		case classes[c]&blank != 0:
			l.pos++
		case c == '/' && strings.HasPrefix(l.src[l.pos:], "//"):
			l.skipLine()
		case c == '/' && strings.HasPrefix(l.src[l.pos:], "/*"):
			l.skipComment()
		default:
			return
		}
	}
}

// skipLine moves to the end of the current line.
func (l *lexer) skipLine() {
	n := strings.IndexByte(l.src[l.pos:], '\n')
	if n < 0 {
		n = len(l.src) - l.pos
	}
	l.pos += n
}

func (l *lexer) skipComment() {
	end := len(l.src)
	if n := strings.Index(l.src[l.pos+2:], "*/"); n >= 0 {
		end = l.pos + n + 4
	}
	l.line += strings.Count(l.src[l.pos:end], "\n")
	l.pos = end
}

// skipWord also takes "::", which joins the parts of a modifier, but no
// single colon, which ends a label.
func (l *lexer) skipWord() {
	l.pos++
	for {
		l.skip(wordByte)
		if !strings.HasPrefix(l.src[l.pos:], "::") {
			return
		}
		l.pos += 2
	}
}

// skipNumber also takes the fraction and the exponent of a decimal float.
func (l *lexer) skipNumber() {
	start := l.pos
	l.skip(numberByte)
	if l.pos == len(l.src) || l.src[l.pos] != '.' {
		return
	}
	l.pos++
	l.skip(numberByte)
	last := l.src[l.pos-1] | 0x20
	if last == 'e' && l.pos < len(l.src) && strings.IndexByte("+-", l.src[l.pos]) >= 0 &&
		!strings.HasPrefix(l.src[start:], "0x") {
		l.pos++
		l.skip(digit)
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

func (l *lexer) skip(while class) {
	src, pos := l.src, l.pos
	for pos < len(src) && classes[src[pos]]&while != 0 {
		pos++
	}
	l.pos = pos
}
