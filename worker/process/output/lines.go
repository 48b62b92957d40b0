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
	// emit gets each line with its end. The end is missing from a line that
	// was cut, and from the last one when the stream ends without. The bytes
	// are valid during the call only.
	emit func(line []byte)
}

func (l *lines) write(p []byte) {
	l.pending = append(l.pending, p...)
	rest := l.pending
	for n := lineLength(rest); n > 0; n = lineLength(rest) {
		l.emit(rest[:n])
		rest = rest[n:]
	}
	l.pending = append(l.pending[:0], rest...)
}

// flush emits what is left at the end of the stream.
func (l *lines) flush() {
	if len(l.pending) > 0 {
		l.emit(l.pending)
	}
	l.pending = l.pending[:0]
}

// lineLength returns the length of p's first line with its end, and 0 when
// more bytes are needed to tell.
func lineLength(p []byte) int {
	end := bytes.IndexAny(p, "\r\n")
	switch {
	case end < 0 && len(p) < maxLine:
		return 0
	case end < 0 || end >= maxLine:
		return cutLength(p[:maxLine])
	case p[end] == '\n':
		return end + 1
	case end+1 == len(p): // "\n" may follow
		return 0
	case p[end+1] == '\n':
		return end + 2
	}
	return end + 1
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
