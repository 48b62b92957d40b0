// Package suggest words what gpurun says to people: numbers of things, lists, and what
// was meant by a word that does not exist.
package suggest

import (
	"cmp"
	"fmt"
	"strings"
)

// Count puts a number before a noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// OrList reads "a, b or c".
func OrList(words []string) string {
	if len(words) < 2 {
		return cmp.Or(words...)
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// OneLine puts an error of several lines into one.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
