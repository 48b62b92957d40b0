package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/faults"
)

// answeredCodes are the exit codes whose messages docs/troubleshooting.md answers.
var answeredCodes = []string{"3", "4", "5", "6", "7", "99", "220", "221"}

// message is a sentence that gpurun prints, and where it was found.
type message struct {
	where string
	text  string
}

// docs/troubleshooting.md has a row for each message of five kinds: texts of errors that have an exit code, reasons why
// check is incomplete, warnings of the log, sentences that the fault matrix expects, and those that scripts of testdata
// expect.
func TestMessagesAreAnswered(t *testing.T) {
	_, page := splitUsage(t, readDocument(t, filepath.Join("docs", "troubleshooting.md")))
	rows := symptoms(page)
	all := slices.Concat(errorTexts(t), warnings(t), faultSentences(), scriptSentences(t))
	if len(all) < 100 || len(rows) < 50 {
		t.Fatalf("found %d messages and %d rows", len(all), len(rows))
	}
	for _, m := range all {
		if !slices.ContainsFunc(rows, func(row []string) bool { return sameMessage(pieces(m.text), row) }) {
			t.Errorf("%s: docs/troubleshooting.md has no row for %q", m.where, m.text)
		}
	}
}

// Every message in docs/troubleshooting.md is one that gpurun's code has.
func TestAnswersAreOfMessages(t *testing.T) {
	var code strings.Builder
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if text := textOf(e); ok && text != "" {
				code.WriteString(general(text) + "\n")
				return false
			}
			return true
		})
	}
	for _, row := range symptoms(readDocument(t, filepath.Join("docs", "troubleshooting.md"))) {
		for _, piece := range row {
			if !strings.Contains(code.String(), piece) {
				t.Errorf("docs/troubleshooting.md has a row for %q, which no text of the code has", piece)
			}
		}
	}
}

// symptoms are the messages in the first column of the tables, each in pieces. Other symptoms have no code span.
func symptoms(page string) [][]string {
	var all [][]string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(page, -1) {
		all = append(all, pieces(row[1]))
	}
	return all
}

// sameMessage reports whether all pieces of a row are in the message, or all pieces of a short message in the row.
func sameMessage(message, row []string) bool { return hasAll(message, row) || hasAll(row, message) }

// hasAll reports whether a message in pieces has all parts.
func hasAll(message, parts []string) bool {
	text := strings.Join(message, "\n")
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

var (
	number = regexp.MustCompile(`%[-+.\d]*[a-z]|\[?\d[\d-]*\]?\+?|%\w`)
	gap    = regexp.MustCompile(`\.\*|\.\.\.`)
)

// general is a text with # in place of what varies: numbers, and verbs of fmt.
func general(text string) string { return number.ReplaceAllString(text, "#") }

// leastPiece are the letters of a part of a message that tells it from others: "FAIL".
const leastPiece = 4

// pieces are the parts of a text between "..." and ".*" that say something.
func pieces(text string) []string {
	var all []string
	for _, piece := range gap.Split(general(text), -1) {
		if piece = strings.Trim(piece, " :;,()"); len(strings.Trim(piece, "#:; ")) >= leastPiece {
			all = append(all, piece)
		}
	}
	return all
}

// textOf is the value of a string literal, or of a sum of literals.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if left, right := textOf(e.X), textOf(e.Y); left != "" && right != "" {
			return left + right
		}
	}
	return ""
}

// errorTexts are the texts of isIncomplete, and those in errors of the types that package exit gives codes, but for
// UsageError.
func errorTexts(t *testing.T) []message {
	var all []message
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if slices.Contains([]string{"EnvironmentError", "MeetingError", "UnfitError"}, nameOf(n.Type)) {
					all = append(all, textsIn(f, n)...)
				}
			case *ast.CallExpr:
				if nameOf(n.Fun) == "isIncomplete" {
					all = append(all, textsIn(f, n)...)
				}
			}
			return true
		})
	}
	return all
}

// warnings are the entries of the log that have the level warn or error.
func warnings(t *testing.T) (all []message) {
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && len(call.Args) > 0 && slices.Contains([]string{"Warn", "Error"}, nameOf(call.Fun)) {
				all = append(all, textsIn(f, call.Args[0])...)
			}
			return true
		})
	}
	return all
}

// textsIn are the texts of several words in a part of a file.
func textsIn(f goFile, n ast.Node) (all []message) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if text := textOf(e); ok && text != "" {
			if strings.Contains(text, " ") && len(pieces(text)) > 0 {
				all = append(all, message{f.name, text})
			}
			return false
		}
		return true
	})
	return all
}

// nameOf is the name of a type or a function, without its package or receiver.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// faultSentences are those of the fault matrix.
func faultSentences() []message {
	var all []message
	for _, cell := range faults.Cells() {
		if e, ok := faults.Expected(cell); ok && slices.Contains(answeredCodes, strconv.Itoa(e.Code)) && e.Sentence != "" {
			all = append(all, message{"faults: " + cell.Fault, e.Sentence})
		}
	}
	return all
}

// noAnswer matches what scripts expect on stderr, and nobody needs an answer to: lines of programs, annotations and log
// entries that repeat a message, torchrun's table of failures, a time, and a part of a message that varies.
var noAnswer = regexp.MustCompile(`^(  |::error |\{|Failures:|Root Cause|error_file|the run took|lost my way|` +
	`sitecustomize|wait_for_others|nowhere\.so|Post "|rank 3 of 4|config file list|.*executable file not found|` +
	`.*: a test\))`)

// scriptSentences are the patterns of stderr that scripts expect after a command with one of the codes.
func scriptSentences(t *testing.T) []message {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(?:exits (\d+)|stderr (?:-count=\d+ )?'\^?(?:gpurun: )?(.*?)\$?'$)`)
	var all []message
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code := ""
		for l := range strings.Lines(string(text)) {
			found := line.FindStringSubmatch(strings.TrimSpace(l))
			switch {
			case found == nil:
			case found[1] != "":
				code = found[1]
			case slices.Contains(answeredCodes, code):
				pattern := strings.NewReplacer(`\`, "", `''`, "'").Replace(found[2])
				if len(pieces(pattern)) > 0 && !noAnswer.MatchString(pattern) {
					all = append(all, message{filepath.Base(file), pattern})
				}
			}
		}
	}
	return all
}
