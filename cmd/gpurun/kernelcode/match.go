package kernelcode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"gpurun/cmd/gpurun/suggest"
)

// maxNameBits bounds demangled names, to 2^16 bytes: a short name may stand for a long one.
const maxNameBits = 16

// demangled are the two names by which a pattern may select a kernel: with its parameters, and without them and the
// type of its result. By way of ToAST the binary contains no demangler of Rust, which ToString has: 65 KB.
func demangled(entry string) (full, short string) {
	tree, err := demangle.ToAST(entry)
	if err != nil {
		return entry, entry
	}
	full = demangle.ASTToString(tree, demangle.MaxLength(maxNameBits))
	if tree, err = demangle.ToAST(entry, demangle.NoParams); err != nil {
		return full, full
	}
	return full, demangle.ASTToString(tree, demangle.NoParams, demangle.MaxLength(maxNameBits))
}

var (
	blank = regexp.MustCompile(`(\W)\s+|\s+(\W)`)
	// suffix is that of an integer among the arguments of a template: C++ writes 2u for an unsigned 2.
	suffix = regexp.MustCompile(`\b(\d+)(?:u|l|ul|ull|ll)\b`)
)

// plain brings names and patterns to one spelling: no blanks but between words, integers without suffixes, and one
// name for the types of the same size.
func plain(name string) string {
	for previous := ""; previous != name; {
		previous = name
		name = blank.ReplaceAllString(name, "$1$2")
	}
	name = suffix.ReplaceAllString(strings.TrimSpace(name), "$1")
	return strings.NewReplacer("long long", "long", "signed char", "char").Replace(name)
}

// matchEntry finds the one kernel whose demangled name a pattern describes. In the pattern * stands for any text.
func matchEntry(pattern string, entries []string) (string, error) {
	parts := strings.Split(plain(pattern), "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	expression, err := regexp.Compile("^(?:" + strings.Join(parts, ".*") + ")$")
	if err != nil {
		return "", fmt.Errorf("match %q: %w", pattern, err)
	}
	var found, names []string
	for _, entry := range entries {
		full, short := demangled(entry)
		names = append(names, short)
		if expression.MatchString(plain(full)) || expression.MatchString(plain(short)) {
			found = append(found, entry)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("no kernel matches %q%s", pattern, nearest(pattern, names))
	}
	const most = 4
	listed := make([]string, 0, most)
	for _, entry := range found[:min(most, len(found))] {
		full, _ := demangled(entry)
		listed = append(listed, full)
	}
	return "", fmt.Errorf("%d kernels match %q: give more of the name. Among them: %s", len(found), pattern,
		strings.Join(listed, "; "))
}

// findEntry checks that there is a kernel of that name.
func findEntry(name string, entries []string) error {
	if slices.Contains(entries, name) {
		return nil
	}
	for _, entry := range entries {
		if full, short := demangled(entry); name == full || name == short {
			return fmt.Errorf("there is no kernel %q: that is the demangled name of %s; write match in place of entry",
				name, entry)
		}
	}
	return fmt.Errorf("there is no kernel %q%s", name, nearest(name, entries))
}

// nearest ends the sentence that there is no such kernel: with the one that is most alike, or with a few.
func nearest(word string, names []string) string {
	if best := suggest.Nearest(word, names); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(names) == 0 {
		return "; it has none"
	}
	return "; it has " + few(names)
}

// few lists the first names.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
