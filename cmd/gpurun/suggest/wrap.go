package suggest

import "strings"

// Wrap breaks text at its blanks into lines of at most this many columns. A longer word has a line of its own.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Indented is text behind a title, in lines of at most this many columns that begin behind the title.
func Indented(title, text string, width int) string {
	return title + strings.Join(Wrap(text, width-len(title)), "\n"+strings.Repeat(" ", len(title))) + "\n"
}
