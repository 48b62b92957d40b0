package terminal

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gpurun/cmd/gpurun/suggest"
)

// Results is where a table goes that is written to out by way of w. Width is the number of columns of the terminal that
// out is, or 0. There, long comments are broken at blanks; elsewhere text passes unchanged.
func Results(out, w io.Writer) (results io.Writer, width int) {
	if !Is(out) {
		return w, 0
	}
	width = Width(out)
	return folder{w, width}, width
}

// folder breaks comments: lines that begin with a number sign and a blank, and are no columns. It gets whole lines.
type folder struct {
	w     io.Writer
	width int
}

func (f folder) Write(text []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(f.fold(line))
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// The name in front of a comment, such as "# Algorithms           : ".
var named = regexp.MustCompile(`^# [A-Z][a-z ]{18,} : `)

// fold breaks a line, if it is a comment that is too long.
func (f folder) fold(line string) string {
	sentence, ok := strings.CutPrefix(line, "# ")
	if !ok || utf8.RuneCountInString(line) <= f.width {
		return line
	}
	title, below := named.FindString(line), "#   "
	switch {
	case title != "":
		sentence, below = line[len(title):], "#"+strings.Repeat(" ", len(title)-1)
	case strings.Contains(strings.TrimRight(sentence, " \n"), "  "): // columns
		return line
	default:
		title = "# "
	}
	return title + strings.Join(suggest.Wrap(sentence, f.width-len(below)), "\n"+below) + "\n"
}
