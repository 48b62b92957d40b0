package output

import (
	"bytes"
	"unicode/utf8"
)

// maxLine is the length at which a line without an end is cut: more than records of logs have.
const maxLine = 1 << 20

// lines cuts a stream into lines. A line ends with "\n", "\r\n", or, so that
// progress bars show, a "\r" alone.
type lines struct {
	pending []byte
	// endless is how many of the first pending bytes are known to have no end of a line.
	endless int
	// emit gets each line with its end. The end is missing from a line that
	// was cut, and from the last one when the stream ends without. The bytes
	// are valid during the call only.
	emit func(line []byte)
}

func (l *lines) write(p []byte) {
	l.pending = append(l.pending, p...)
	e := ends{text: l.pending, newline: -1, carriageReturn: -1}
	begin, searched := 0, l.endless
	for {
		length := e.lineLength(begin, searched)
		if length == 0 {
			break
		}
		l.emit(l.pending[begin : begin+length])
		begin += length
		searched = begin
	}
	l.endless = e.next(searched) - begin
	if begin > 0 {
		l.pending = append(l.pending[:0], l.pending[begin:]...)
	}
}

// flush emits what is left at the end of the stream.
func (l *lines) flush() {
	if len(l.pending) > 0 {
		l.emit(l.pending)
	}
	l.pending, l.endless = l.pending[:0], 0
}

// ends finds the ends of lines in a text, whose bytes it reads once.
type ends struct {
	text                    []byte
	newline, carriageReturn int // the next ones, or the length of the text; -1: not yet known
}

// next returns the first "\n" or "\r" at or behind a place, or the length of the text. The places must not fall.
func (e *ends) next(from int) int {
	e.newline = nextByte(e.text, '\n', e.newline, from)
	e.carriageReturn = nextByte(e.text, '\r', e.carriageReturn, from)
	return min(e.newline, e.carriageReturn)
}

// nextByte returns the first b at or behind a place, given the one behind an earlier place.
func nextByte(text []byte, b byte, known, from int) int {
	if known >= from {
		return known
	}
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}

// lineLength returns the length of the line at a place with its end, and 0 when more bytes are needed to tell. The
// bytes before searched have no end.
func (e *ends) lineLength(begin, searched int) int {
	at, all := e.next(searched), len(e.text)
	switch {
	case at == all && all-begin < maxLine:
		return 0
	case at-begin >= maxLine:
		return cutLength(e.text[begin : begin+maxLine])
	case e.text[at] == '\n':
		return at + 1 - begin
	case at+1 == all: // "\n" may follow
		return 0
	case e.text[at+1] == '\n':
		return at + 2 - begin
	}
	return at + 1 - begin
}

// cutLength returns the length of p without the bytes of a character that is not
// complete at its end.
func cutLength(p []byte) int {
	for back := 1; back < utf8.UTFMax; back++ {
		start := len(p) - back
		if utf8.RuneStart(p[start]) {
			if !utf8.FullRune(p[start:]) {
				return start
			}
			break
		}
	}
	return len(p)
}

// content returns a line without its end.
func content(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// loneReturn reports whether a line is nothing but "\r": progress bars begin with it.
func loneReturn(line []byte) bool { return len(line) == 1 && line[0] == '\r' }
