package main

import (
	"bytes"
	"regexp"
)

// comment is what the compiler says about its output: for people, and a tenth of
// the text.
var comment = regexp.MustCompile(`[ \t]*//[^\n]*`)

// shorten removes comments and empty lines. No string of the kernels' PTX holds
// two slashes.
func shorten(text []byte) []byte {
	var short []byte
	for line := range bytes.Lines(comment.ReplaceAll(text, nil)) {
		if len(bytes.TrimSpace(line)) > 0 {
			short = append(short, line...)
		}
	}
	return short
}
