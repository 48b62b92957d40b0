package kernelfile

import (
	"math/bits"
	"slices"
	"strings"
)

// names is a set of what expressions may depend on.
type names uint32

// The names of expressions, and behind them the two functions that need buffers.
const (
	nameRank names = 1 << iota
	nameWorld
	nameRoot
	nameCount
	nameBytes
	nameSize
	nameVectors
	nameSMs
	nameBlocks
	nameTimeout
	nameInPlace
	nameType
	nameOp
	nameM
	nameN
	nameK
	nameCall
	nameGrid
	nameBlock
	nameI
	funcOffset
	funcLength
)

// nameTexts are the names in the order of their bits.
var nameTexts = []string{
	"rank", "world", "root", "count", "bytes", "size", "vectors", "sms", "blocks", "timeout_ns", "in_place", "type", "op",
	"m", "n", "k", "call", "grid", "block", "i", "offset()", "length()",
}

// What is known where.
const (
	ofCall   = nameCall - 1           // what stays the same from call to call
	ofLaunch = ofCall | nameCall      // shapes
	ofStep   = ofLaunch | bufferFuncs // conditions, fills and copies
	ofArgs   = ofStep | nameGrid | nameBlock
	ofEntry  = ofArgs | nameI // an entry of a table
	ofBuffer = ofCall &^ (nameInPlace | nameRank | nameRoot)
	// ofElement is what the value of an element depends on.
	ofElement = ofCall&^(nameInPlace|nameSMs|nameBlocks|nameTimeout) | nameI
	// ofContract is what limits of counts and sizes depend on.
	ofContract  = ofBuffer &^ (nameCount | nameBytes | nameVectors)
	bufferFuncs = funcOffset | funcLength
	// ofModule is what variables of a module depend on, which are written once for all calls.
	ofModule = ofStep &^ (nameCall | nameInPlace | ofCallSize)
	// ofCallSize are those that differ between the calls of a run.
	ofCallSize = nameCount | nameBytes | nameVectors | namesOfMatrices
)

// namesOfParts are known of a collective, and namesOfMatrices of a product of matrices.
const (
	namesOfParts    = nameRoot | nameCount | nameBytes | nameVectors | nameBlocks | nameInPlace | nameOp
	namesOfMatrices = nameM | nameN | nameK
)

// absentNames are those of the other kind.
func absentNames(collective string) names {
	if isProduct(collective) {
		return namesOfParts
	}
	return namesOfMatrices
}

func (s names) has(n names) bool { return s&n != 0 }

// first is the text of the first name of the set.
func (s names) first() string {
	at := bits.TrailingZeros32(uint32(s))
	if at >= len(nameTexts) {
		return ""
	}
	return nameTexts[at]
}

func nameOf(text string) (names, bool) {
	at := slices.Index(nameTexts, text)
	if at < 0 || strings.HasSuffix(text, ")") {
		return 0, false
	}
	return 1 << at, true
}

// kindOf is the kind of a name's values.
func kindOf(n names) valueKind {
	switch n {
	case nameType, nameOp:
		return word
	case nameInPlace:
		return truth
	}
	return exact
}

// nearest is the candidate with the least edit distance from a text, or "" where none is alike.
func nearest(text string, candidates []string) string {
	best, least := "", max(len(text)/2, 1)+1
	for _, c := range candidates {
		if len(c) > 100 || len(text) > 100 {
			continue
		}
		if d := editDistance(strings.ToLower(text), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements between two texts.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// didYouMean proposes the nearest candidate, and lists all where none is alike.
func didYouMean(text string, candidates []string) string {
	if near := nearest(text, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(candidates) == 0 {
		return ""
	}
	return "; there is " + strings.Join(candidates, ", ")
}
