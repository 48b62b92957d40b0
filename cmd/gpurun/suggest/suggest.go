package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// synonyms are values that other programs have for what gpurun names otherwise.
var synonyms = map[string]string{
	"bfloat": "bfloat16", "average": "avg", "mean": "avg", "product": "prod", "maximum": "max", "minimum": "min",
	"gpu": "cuda", "cpu": "sim", "simulator": "sim", "warning": "warn", "md": "markdown", "text": "table",
}

// Unknown says that there is no such word, and which one or two of the valid words were meant. Where none is near, it
// says which there are.
func Unknown(what, word string, valid []string) error { return UnknownName(what, word, valid, nil) }

// UnknownName is Unknown for things that have other spellings. aliases has the word for each of these.
func UnknownName(what, word string, valid []string, aliases map[string]string) error {
	if s, ok := synonyms[strings.ToLower(word)]; ok && slices.Contains(valid, s) {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, word, s)
	}
	names := map[string]string{}
	for _, v := range valid {
		names[v] = v
	}
	for alias, v := range aliases {
		if slices.Contains(valid, v) {
			names[alias] = v
		}
	}
	if found := nearest(word, names); len(found) > 0 {
		return fmt.Errorf("unknown %s %q; did you mean %s?", what, word, OrList(found))
	}
	return fmt.Errorf("unknown %s %q (valid: %s)", what, word, strings.Join(valid, ", "))
}

// mostEdits bounds the edit distance of a word that may be meant: a third of the letters.
func mostEdits(word string) int { return max((len(word)+2)/3, 1) }

// Nearest returns the valid word with the least edit distance, else one that
// begins with word, or "" when none is alike.
func Nearest(word string, valid []string) string {
	word = strings.ToLower(word)
	most := mostEdits(word)
	if len(word) < 5 {
		most = 1 // flags of four letters are alike by chance: --tool and --root
	}
	best, least := "", most+1
	for _, candidate := range valid {
		if d := editDistance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	if best == "" && word != "" {
		begins := func(candidate string) bool { return strings.HasPrefix(candidate, word) }
		if i := slices.IndexFunc(valid, begins); i >= 0 {
			return valid[i]
		}
	}
	return best
}

// Typo returns the valid word that is one or two slips from word, or "". Words
// of a few letters are alike by chance.
func Typo(word string, valid []string) string {
	for most := 1; most <= 2; most++ {
		for _, candidate := range valid {
			if min(len(word), len(candidate)) > 3*most && editDistance(word, candidate) == most {
				return candidate
			}
		}
	}
	return ""
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbors that turn a into b (optimal string alignment). cobra's own distance is not
// exported and, as most libraries' do, counts a swap as two slips.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
