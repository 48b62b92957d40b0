package kernelfile

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The reference names everything that a file may say, and its example is a file.
func TestReferenceIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/kernel-files-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	reference := string(text)
	words := slices.Concat(argKeys(), tensorTypes, typeNames(), operationNames(), functionNames, placeholderNames,
		compilePlaceholders, knownKeys(t))
	for _, name := range nameTexts {
		words = append(words, strings.TrimSuffix(name, "()"))
	}
	for _, c := range collectives {
		words = append(words, c.name)
	}
	for _, word := range words {
		forms := []string{"`" + word + "`", "`{" + word + "}`", "`" + word + "("}
		if !slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(reference, form) }) {
			t.Errorf("docs/kernel-files-reference.md does not name `%s`", word)
		}
	}
	_, behind, _ := strings.Cut(reference, "\n    collective")
	example, _, _ := strings.Cut("    collective"+behind, "\nAn unknown key")
	if _, err := Parse("x.toml", []byte(strings.ReplaceAll(example, "\n    ", "\n")[4:])); err != nil {
		t.Errorf("the example: %v", err)
	}
}

// knownKeys are the keys of the tables of files that have them all.
func knownKeys(t *testing.T) []string {
	all := []string{"barrier", "op", "entry", "module"}
	for path, text := range exampleFiles(t) {
		root, err := parseTree(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, keysOf(root)...)
	}
	return all
}

// keysOf are the keys of a table and of those in it, without those that are names of the file's own.
func keysOf(n *node) []string {
	var all []string
	for i, value := range n.values {
		if n.kind == tableNode {
			all = append(all, n.keys[i])
			if own := []string{"buffers", "let", "globals"}; slices.Contains(own, n.keys[i]) {
				value = &node{kind: listNode, values: value.values}
			}
		}
		all = append(all, keysOf(value)...)
	}
	return all
}
