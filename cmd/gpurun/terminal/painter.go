// Package terminal knows whether a stream is a terminal, and paints verdicts there.
package terminal

import (
	"io"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/term"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/worker/result/printable"
)

// Is reports whether a stream is a terminal.
func Is(w io.Writer) bool {
	file, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Width is the number of columns of a terminal, or the usual one where the terminal does not tell.
func Width(w io.Writer) int {
	const usual = 80
	if file, ok := w.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return usual
}

// TextWidth is the width of text for a reader: so many columns, or what a terminal has if that is less.
func TextWidth(w io.Writer, most int) int {
	if Is(w) {
		return min(most, Width(w))
	}
	return most
}

// Painter passes text on, with colors for the verdicts that begin a line. A verdict comes in one call of Write. Control
// characters in the text become escapes, see package printable.
type Painter struct {
	w  io.Writer
	on bool

	mu   sync.Mutex
	rest []byte // the beginning of a character
}

// The values of --color.
const (
	Auto   = "auto" // on a terminal
	Always = "always"
	Never  = "never"
)

// NewPainter paints if w is a terminal, unless the environment says otherwise: see https://no-color.org and
// https://bixense.com/clicolors.
func NewPainter(w io.Writer, getenv func(string) string) *Painter {
	forced := getenv("CLICOLOR_FORCE")
	on := Is(w) && getenv("TERM") != "dumb" || forced != "" && forced != "0"
	return &Painter{w: w, on: on && getenv("NO_COLOR") == ""}
}

// Set follows the value of --color, which overrides the environment.
func (p *Painter) Set(when string) error {
	switch when {
	case Auto:
	case Always:
		p.on = true
	case Never:
		p.on = false
	default:
		return &exit.UsageError{Err: suggest.Unknown("value of --color", when, []string{Auto, Always, Never})}
	}
	return nil
}

// Unchanged is the stream of a launched program's own output.
func (p *Painter) Unchanged() io.Writer { return p.w }

// Fd is the file of the stream.
func (p *Painter) Fd() uintptr { return Fd(p.w) }

// Fd is the file of a stream; of a stream without one it is no file at all.
func Fd(w io.Writer) uintptr {
	if file, ok := w.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

// Sequences of ECMA-48, Select Graphic Rendition.
const (
	green, yellow, red, plain = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
)

// paints are the verdicts of smoke, doctor, check and collectives, with their colors.
var paints = []struct {
	verdict *regexp.Regexp
	color   string
}{
	{regexp.MustCompile(`(?m)^(PASS|OK|CLEAN)\b|\b0 OK$`), green},
	{regexp.MustCompile(`(?m)^(WARN|INCOMPLETE)\b`), yellow},
	{regexp.MustCompile(`(?m)^(FAIL|FINDINGS|DEADLOCK|# FAILED)\b|\b[1-9][0-9]* FAILED$`), red},
}

// Write passes text on.
func (p *Painter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole, rest := printable.Whole(append(p.rest, text...))
	p.rest = slices.Clone(rest)
	painted := []byte(printable.Text(string(whole)))
	if p.on {
		for _, paint := range paints {
			painted = paint.verdict.ReplaceAll(painted, []byte(paint.color+"$0"+plain))
		}
	}
	if _, err := p.w.Write(painted); err != nil {
		return 0, err
	}
	return len(text), nil
}
