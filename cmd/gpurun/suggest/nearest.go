package suggest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Meant says that there is no such word, and which one or two were meant. names has the name of a thing for each
// word for it; only names are suggested. Where none is near, instead says what to do.
func Meant(what, word string, names map[string]string, instead string) error {
	found := nearest(word, names)
	if len(found) == 0 {
		return fmt.Errorf("unknown %s %q; %s", what, word, instead)
	}
	return fmt.Errorf("unknown %s %q; did you mean %s?", what, word, OrList(found))
}

// nearest are the names, at most two, of the words with the least edit distance, else of those that begin with word.
// "all" is not misspelled, and names nothing.
func nearest(word string, names map[string]string) (found []string) {
	word = strings.ToLower(word)
	if word == "all" {
		return nil
	}
	words := slices.Sorted(maps.Keys(names))
	least := mostEdits(word)
	for _, w := range words {
		least = min(least, editDistance(word, w))
	}
	near := func(w string) bool { return editDistance(word, w) == least }
	if !slices.ContainsFunc(words, near) {
		near = func(w string) bool { return word != "" && strings.HasPrefix(w, word) }
	}
	for _, w := range words {
		if quoted := fmt.Sprintf("%q", names[w]); near(w) && len(found) < 2 && !slices.Contains(found, quoted) {
			found = append(found, quoted)
		}
	}
	return found
}
