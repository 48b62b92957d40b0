package main

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// usageSection begins the part of docs/troubleshooting.md that has classes of messages with exit code 2: each row is
// the words that a class has in common.
const usageSection = "## The command line or a setting is wrong: exit code 2\n"

// splitUsage parts the page's section about usage from the rest.
func splitUsage(t *testing.T, page string) (usage, rest string) {
	before, behind, found := strings.Cut(page, usageSection)
	usage, after, _ := strings.Cut(behind, "\n## ")
	if !found {
		t.Fatalf("docs/troubleshooting.md has no section %q", usageSection)
	}
	return usage, before + after
}

// Every message of a usage error is of a class that docs/troubleshooting.md answers, and every class has a message.
func TestUsageMessagesHaveAClass(t *testing.T) {
	usage, _ := splitUsage(t, readDocument(t, filepath.Join("docs", "troubleshooting.md")))
	rows := symptoms(usage)
	all := usageTexts(t)
	if len(all) < 100 || len(rows) < 40 {
		t.Fatalf("found %d messages and %d classes", len(all), len(rows))
	}
	for _, m := range all {
		if isLabel(m.text) {
			continue
		}
		if !slices.ContainsFunc(rows, func(row []string) bool { return hasAll(pieces(m.text), row) }) {
			t.Errorf("%s: docs/troubleshooting.md has no class for the usage message %q", m.where, m.text)
		}
	}
	for _, row := range rows {
		if !slices.ContainsFunc(all, func(m message) bool { return hasAll(pieces(m.text), row) }) {
			t.Errorf("docs/troubleshooting.md has a class %q, and no usage message is of it", row)
		}
	}
}

// isLabel reports whether a text is no sentence: a flag in front of a reason, or what a word is.
func isLabel(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("-%", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return strings.ContainsAny(word, "-%") })
	return len(words) < 4 && !strings.Contains(text, ";")
}

// usageTexts are the texts of usage errors: formats of Usagef, Invalid, InvalidKey and usagef, errors that a UsageError
// or a call of Invalid makes, and what suggest says.
func usageTexts(t *testing.T) (all []message) {
	makers := []string{"Usagef", "usagef", "Invalid", "InvalidKey", "UsageError", "Unknown", "Meant"}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		for _, decl := range f.tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.name, "cmd/gpurun/suggest/") && slices.Contains(makers, fn.Name.Name) {
				all = append(all, textsIn(f, fn.Body)...)
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if nameOf(n.Type) == "UsageError" {
					all = append(all, textsIn(f, n)...)
				}
			case *ast.CallExpr:
				if name := nameOf(n.Fun); slices.Contains(makers[:4], name) {
					all = append(all, textsIn(f, n)...)
				}
			}
			return true
		})
	}
	return all
}
