package ptx

import (
	"fmt"
	"strings"
)

// maxText bounds the source text in an error message.
const maxText = 160

// Error is a complaint about one line of PTX.
type Error struct {
	Module string
	Line   int
	Text   string // the offending source, possibly shortened
	Reason string
	// Source is the line of the source that the PTX was made of, such as "kernel.cu:12", or "".
	Source string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d", e.Module, e.Line)
	if e.Source != "" {
		at += " (" + e.Source + ")"
	}
	if e.Text == "" {
		return fmt.Sprintf("%s: %s", at, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %q", at, e.Reason, e.Text)
}

func (p *parser) errorf(format string, args ...any) error {
	start := strings.LastIndexByte(p.lex.src[:p.tok.pos], '\n') + 1
	text, _, _ := strings.Cut(p.lex.src[start:min(len(p.lex.src), start+8*maxText)], "\n")
	return &Error{
		Module: p.module.Name, Line: p.tok.line,
		Text: squeeze(text), Reason: fmt.Sprintf(format, args...),
	}
}

// squeeze makes source text fit an error message.
func squeeze(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText]
	}
	return shorten(strings.Join(strings.Fields(text), " "))
}

func shorten(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "..."
	}
	return text
}
