// Package printable makes text of data, such as names and paths, harmless to terminals, XML and JSON: it is applied
// where the text is written.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text replaces what strconv.IsGraphic does not know as printable, except newlines and tabs. A control character
// becomes its JSON escape, so that JSON keeps its meaning; a byte that is no UTF-8 becomes \x and its number.
func Text(s string) string {
	if isPrintable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case isAllowed(r):
			b.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		s = s[size:]
	}
	return b.String()
}

// isPrintable reports whether Text changes nothing.
func isPrintable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !isAllowed(r) {
			return false
		}
	}
	return true
}

func isAllowed(r rune) bool { return r == '\n' || r == '\t' || strconv.IsGraphic(r) }

// Whole returns the part of a text that ends with a whole character, and the rest: text may be written in pieces.
func Whole(text []byte) (whole, rest []byte) {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n], last
			}
			break
		}
	}
	return text, nil
}
