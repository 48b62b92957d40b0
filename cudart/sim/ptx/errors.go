package ptx

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// maxText bounds the source text in an error message.
const maxText = 160

// Error is a complaint about PTX.
type Error struct {
	Module string
	Line   int    // 0 where the complaint is about the whole file
	Text   string // the offending source, possibly shortened
	Reason string
	// Source is the line of the source that the PTX was made of, such as "kernel.cu:12", or "".
	Source string
}

func (e *Error) Error() string {
	at := e.Module
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
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

// notText refuses machine code by its first bytes, where PTX text has neither.
func notText(name string, src []byte) error {
	what := ""
	switch start := src[:min(len(src), 64)]; {
	case bytes.HasPrefix(start, []byte("\x7fELF")):
		what = "an ELF file, such as a cubin"
	case bytes.HasPrefix(start, []byte("\x50\xed\x55\xba")):
		what = "a fatbin"
	case bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && !unicode.IsSpace(r) }):
		what = "a binary file"
	default:
		return nil
	}
	const advice = "compile with --ptx, or extract with cuobjdump -ptx"
	return &Error{Module: name, Reason: fmt.Sprintf("this is %s, and no PTX text; %s", what, advice)}
}
