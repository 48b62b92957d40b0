package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line fits half of a wide screen, and a function fits one screen.
const (
	mostColumns    = 120 // a tab counts as one
	mostLines      = 60  // of a function, without the rows of its tables and texts
	mostStatements = 50  // of a function, with those of the functions in it
)

// longLines are the folders that still have longer lines. The list may only become shorter.
var longLines = []string{"cudart/sim/exec"}

// goFile is a file of the repository, generated code aside.
type goFile struct {
	name string // from the repository's root
	text string
	fset *token.FileSet
	tree *ast.File
}

func parseGoFile(t *testing.T, name, text string) goFile {
	t.Helper()
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return goFile{name, text, fset, tree}
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var all []goFile
	err := fs.WalkDir(os.DirFS(repository), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(name) != ".go":
			return nil
		}
		if f := parseGoFile(t, name, readDocument(t, name)); !ast.IsGenerated(f.tree) {
			all = append(all, f)
		}
		return nil
	})
	if err != nil || len(all) < 500 {
		t.Fatalf("found %d files, %v", len(all), err)
	}
	return all
}

func TestLinesAndFunctionsAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if !slices.ContainsFunc(longLines, func(folder string) bool { return within(f.name, folder) }) {
			for _, line := range f.longLines() {
				t.Errorf("%s:%d has more than %d columns", f.name, line, mostColumns)
			}
		}
		for _, decl := range f.tree.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			if n := f.lines(function.Body); n > mostLines {
				t.Errorf("%s: %s has %d lines, %d at most: split it", f.name, function.Name.Name, n, mostLines)
			}
			if n := statements(function.Body); n > mostStatements {
				t.Errorf("%s: %s has %d statements, %d at most: split it", f.name, function.Name.Name, n, mostStatements)
			}
		}
	}
}

// longLines are the numbers of the lines that have too many columns. Texts of several lines,
// such as an expected output, are as they must be.
func (f goFile) longLines() []int {
	verbatim := map[int]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && f.line(text.Pos()) < f.line(text.End()) {
			for line := f.line(text.Pos()); line <= f.line(text.End()); line++ {
				verbatim[line] = true
			}
		}
		return true
	})
	var long []int
	for i, line := range strings.Split(f.text, "\n") {
		if utf8.RuneCountInString(line) > mostColumns && !verbatim[i+1] && !strings.HasPrefix(line, "//go:") {
			long = append(long, i+1)
		}
	}
	return long
}

// lines counts the lines inside of a body. The rows of a text or of a composite literal are
// data; of these, only the functions in a composite literal count.
func (f goFile) lines(body *ast.BlockStmt) int {
	n := f.between(body.Lbrace, body.Rbrace)
	ast.Inspect(body, func(node ast.Node) bool {
		switch data := node.(type) {
		case *ast.BasicLit:
			n -= f.between(data.Pos(), data.End())
		case *ast.CompositeLit:
			n -= f.between(data.Lbrace, data.Rbrace)
			n += f.linesOfFunctions(data)
			return false
		}
		return true
	})
	return n
}

func (f goFile) linesOfFunctions(table *ast.CompositeLit) int {
	n := 0
	ast.Inspect(table, func(node ast.Node) bool {
		function, ok := node.(*ast.FuncLit)
		if ok {
			n += f.lines(function.Body)
		}
		return !ok
	})
	return n
}

// between counts the lines that are wholly between two positions.
func (f goFile) between(from, to token.Pos) int { return max(f.line(to)-f.line(from)-1, 0) }

func (f goFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// statements counts the statements of a body, the blocks and cases around them aside.
func statements(body *ast.BlockStmt) int {
	n := 0
	ast.Inspect(body, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt, *ast.EmptyStmt:
		case ast.Stmt:
			n++
		}
		return true
	})
	return n
}

// The rules do say no: a check that cannot fail checks nothing.
func TestLengthsSayNo(t *testing.T) {
	f := parseGoFile(t, "long.go", "package p\n\n// "+strings.Repeat("ä", mostColumns-2)+"\nfunc f() {\n"+
		strings.Repeat("\tx++\n", mostLines+1)+"\t_ = []func(){\n\t\tfunc() {\n\t\t\tx++\n\t\t},\n\t}\n}\n\nvar s = `\n"+
		strings.Repeat("x", mostColumns+1)+"`\n")
	if got := f.longLines(); !slices.Equal(got, []int{3}) {
		t.Errorf("long lines %v, want line 3 alone", got)
	}
	body := f.tree.Decls[0].(*ast.FuncDecl).Body
	if got, want := f.lines(body), mostLines+1+2+1; got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	if got, want := statements(body), mostLines+1+2; got != want {
		t.Errorf("%d statements, want %d", got, want)
	}
}
