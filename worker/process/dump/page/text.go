package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// clean returns text that a terminal shows as it is: names of functions, files and hosts come from the program, and
// could hold escape sequences. What cannot be printed becomes \xNN or \uNNNN.
func clean(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

// cut shortens text to so many columns. A letter counts as one column.
func cut(text string, columns int) string {
	letters := []rune(text)
	if len(letters) <= columns {
		return text
	}
	return string(letters[:max(columns-3, 0)]) + "..."
}

// cutFront shortens text at its front: the end of a path says most.
func cutFront(text string, columns int) string {
	letters := []rune(text)
	if len(letters) <= columns {
		return text
	}
	return "..." + string(letters[len(letters)-max(columns-3, 0):])
}

// ranges writes numbers as in 0-4,6,7.
func ranges(numbers []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(numbers)))
	var parts []string
	for i := 0; i < len(sorted); {
		end := i + 1
		for end < len(sorted) && sorted[end] == sorted[end-1]+1 {
			end++
		}
		if end-i < 3 {
			end = i + 1
			parts = append(parts, strconv.Itoa(sorted[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", sorted[i], sorted[end-1]))
		}
		i = end
	}
	return strings.Join(parts, ",")
}

// named is "rank 5" or "ranks 0-4,6,7".
func named(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + ranges(ranks)
}

// plural chooses the form of a verb for so many ranks.
func plural(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return one
	}
	return several
}

// seconds writes a duration for people.
func seconds(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
}

// some lists names, the first few of many.
func some(names []string, most int) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if more := len(names) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
