package main

import (
	"bytes"
	"regexp"
)

// comment matches the compiler's comments: a tenth of the text.
var comment = regexp.MustCompile(`//[^\n]*`)

// shorten removes comments, empty lines, indentation, spaces behind commas and all but one
// space in a row, and gives labels and 64-bit registers shorter names: the text is in the
// binary as it is. No string of the kernels' PTX holds slashes or spaces.
func shorten(text []byte) []byte {
	var short []byte
	for line := range bytes.Lines(comment.ReplaceAll(text, nil)) {
		if words := bytes.Fields(line); len(words) > 0 {
			short = append(append(short, bytes.Join(words, []byte(" "))...), '\n')
		}
	}
	for _, name := range [][2]string{{"$L__BB", "$L"}, {", ", ","}, {"%rd", "%d"}} {
		short = bytes.ReplaceAll(short, []byte(name[0]), []byte(name[1]))
	}
	return short
}
