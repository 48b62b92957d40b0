package terminal

import (
	"io"
	"strings"
	"unicode/utf8"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/worker/result/printable"
)

// WriteText writes lines for people. On a terminal, lines that are too long are broken at blanks; elsewhere nothing
// changes but control characters, which become escapes.
func WriteText(w io.Writer, text string) error {
	text = printable.Text(text)
	if Is(w) {
		text = foldText(text, Width(w))
	}
	_, err := io.WriteString(w, text)
	return err
}

// Messages is where messages go that are written to w, each in one write. On a terminal their lines are broken at
// blanks; all else passes unchanged.
func Messages(w io.Writer) io.Writer {
	if !Is(w) {
		return w
	}
	return messages{w}
}

type messages struct{ w io.Writer }

// Write implements io.Writer. What launched programs write does not begin as a message does.
func (m messages) Write(text []byte) (int, error) {
	if !strings.HasPrefix(string(text), "gpurun: ") {
		return m.w.Write(text)
	}
	if err := WriteText(m.w, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Fd is the file of the stream.
func (m messages) Fd() uintptr { return Fd(m.w) }

// foldText breaks long lines. What continues a line stands below its last column, or is indented by two more blanks.
func foldText(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) <= width {
			b.WriteString(line + "\n")
			continue
		}
		title := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " ")))
		below := title + "  "
		if at := strings.LastIndex(line, "  "); at >= len(title) {
			title = line[:at+2]
			below = strings.Repeat(" ", utf8.RuneCountInString(title))
		}
		if len(below) > width/2 { // columns without a text behind them
			b.WriteString(line + "\n")
			continue
		}
		b.WriteString(title + strings.Join(suggest.Wrap(line[len(title):], width-len(below)), "\n"+below) + "\n")
	}
	return b.String()
}
