package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/torchrun"
)

// repository is the path of the repository's root.
var repository = filepath.Join("..", "..")

// documents are the paths of README.md, docs and the guides, from the repository's root.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs has %d pages, %v", len(pages), err)
	}
	all := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
	for _, page := range pages {
		all = append(all, filepath.Join("docs", filepath.Base(page)))
	}
	return all
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestREADMEIsShort(t *testing.T) {
	const most = 150
	if n := strings.Count(readDocument(t, "README.md"), "\n"); n > most {
		t.Errorf("README.md has %d lines, %d at most: move details to a page in docs", n, most)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// Links to files of the repository, and to headings of its documents, lead somewhere.
func TestLinksOfDocuments(t *testing.T) {
	for _, name := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(readDocument(t, name), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(found[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, found[1])
			} else if anchor != "" && !slices.Contains(anchors(readDocument(t, target)), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", name, found[1], target)
			}
		}
	}
}

// path is that of a file of the repository, as documents name it.
var path = regexp.MustCompile(`\b(?:cmd|configs|cudart|docs|kernels|rendezvous|scripts|worker)/[\w./-]+` +
	`\.(?:cuh?|go|json|md|py|sh|svg|toml|ya?ml)\b`)

// Files that documents name exist. Names in capitals, as NAME.cu, stand for others.
func TestPathsOfDocuments(t *testing.T) {
	placeholder := regexp.MustCompile(`\b(?:COLLECTIVE|FILE|NAME)\b|NAME_`)
	for _, name := range documents(t) {
		for _, file := range path.FindAllString(readDocument(t, name), -1) {
			if placeholder.MatchString(file) {
				continue
			}
			if _, err := os.Stat(filepath.Join(repository, file)); err != nil {
				t.Errorf("%s names %s, which does not exist", name, file)
			}
		}
	}
}

// anchors are what GitHub makes of a document's headings.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		kept := strings.Map(func(r rune) rune {
			if r == ' ' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(found[1]))
		all = append(all, strings.ReplaceAll(kept, " ", "-"))
	}
	return all
}

// Every command line of gpurun that a document shows is one that gpurun accepts: the command exists,
// and so do its flags, with values that they take.
func TestCommandLinesOfDocuments(t *testing.T) {
	shown := 0
	for _, name := range documents(t) {
		for _, line := range commandLines(readDocument(t, name)) {
			shown++
			if err := accepts(line); err != nil {
				t.Errorf("%s: gpurun %s: %v", name, strings.Join(line, " "), err)
			}
		}
	}
	const least = 60
	if shown < least {
		t.Errorf("the documents show %d command lines: are they still found?", shown)
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	// before is what may stand in front of gpurun in a command line.
	before = regexp.MustCompile(`^(\$ )?([A-Z_]+=\S+ )*(srun (-\S+ )*|go run )?(\./)?(cmd/)?gpurun( |$)`)
)

// commandLines are the words after gpurun in the command lines of a document: lines of
// indented code, and code spans. COLLECTIVE stands for any collective.
func commandLines(text string) [][]string {
	var all [][]string
	take := func(code string) {
		if at := before.FindStringIndex(code); at != nil {
			if words := shellWords(strings.ReplaceAll(code[at[1]:], "COLLECTIVE", "allreduce")); len(words) > 0 {
				all = append(all, words)
			}
		}
	}
	for line := range strings.Lines(text) {
		if code, indented := strings.CutPrefix(line, "    "); indented {
			take(strings.TrimSpace(code))
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			take(span[1])
		}
	}
	return all
}

// shellWords splits a command at spaces that are not quoted, up to a pipe, a redirection or a
// comment.
func shellWords(command string) []string {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range command {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			end()
		case !begun && strings.ContainsRune("#|>&", r):
			return words
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// accepts reads a command line as gpurun does, without running it.
func accepts(words []string) error {
	cmd := newCommand(&program.Invocation{
		Args: append([]string{"gpurun"}, words...), Out: &bytes.Buffer{}, Err: &bytes.Buffer{},
	})
	if cmd.DisableFlagParsing { // it launches a program, by torchrun's rules
		options := torchrun.New()
		line, err := options.Split(words, cmd.Flags())
		if err != nil {
			return err
		}
		return options.Take(line, func(string) (string, string) { return "", "" })
	}
	found, rest, err := cmd.Find(words)
	if err != nil {
		return err
	}
	if err := found.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	rest = found.Flags().Args()
	if !found.HasParent() && len(rest) > 0 {
		return unknownCommand(found, rest[0])
	}
	return acceptsRest(found, rest)
}

// acceptsRest checks what is behind the flags of a command, and the values of its flags.
func acceptsRest(cmd *cobra.Command, words []string) error {
	if err := cmd.ValidateArgs(words); err != nil {
		return err
	}
	if cmd.Name() == "tune" {
		words, _ = splitKernelFiles(words)
	}
	if cmd.Name() == "bench" || cmd.Name() == "tune" {
		if _, err := collectivesNamed(words); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("config") {
		return nil // the file of an example does not exist
	}
	told, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	_, err = settings.Read(told)
	return err
}

// The table of exit codes has exactly those of package exit.
func TestDocumentedExitCodes(t *testing.T) {
	want := definedExitCodes(t)
	got := map[string]string{}
	row := regexp.MustCompile(`(?m)^\| (\d+(?:\+n)?) \| (\w+) \|`)
	for _, found := range row.FindAllStringSubmatch(readDocument(t, filepath.Join("docs", "exit-codes.md")), -1) {
		got[found[2]] = found[1]
	}
	for name, code := range want {
		if got[name] != code {
			t.Errorf("docs/exit-codes.md gives %s the code %q, and package exit %s", name, got[name], code)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("docs/exit-codes.md has %s, and package exit has not", name)
		}
	}
}

// definedExitCodes reads the constants of package exit: their names, and the codes as users write them.
func definedExitCodes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("exit", "exit.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			codes[constant.Names[0].Name] = constant.Values[0].(*ast.BasicLit).Value
		}
	}
	if codes["Signaled"] == "" {
		t.Fatalf("exit.go has no Signaled: %v", codes)
	}
	codes["Signaled"] += "+n"
	return codes
}

// Command lines are found among other code, and wrong ones are not accepted.
func TestCommandLinesAreFound(t *testing.T) {
	text := "Run `gpurun doctor` or `gpurun`.\n\n" +
		"    $ gpurun --nproc-per-node 2 allreduce -e 1K   # sizes\n" +
		"    srun --ntasks-per-node=1 gpurun -- sh -c 'exit 7' | cat\n" +
		"    GPURUN_MAXBYTES=1K ./gpurun list\n" +
		"    gpurun: rank 1 failed\n" +
		"    # gpurun version devel\n"
	want := "[[doctor] [--nproc-per-node 2 allreduce -e 1K] [-- sh -c exit 7] [list]]"
	if got := fmt.Sprint(commandLines(text)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, wrong := range []string{
		"allreduse", "allreduce --nosuch 1", "allreduce -b x", "--max-restarts x train.py", "bench nosuch", "doctor now",
	} {
		if accepts(strings.Fields(wrong)) == nil {
			t.Errorf("gpurun %s is accepted", wrong)
		}
	}
}

// A package has one comment, which begins with its name.
func TestPackageComments(t *testing.T) {
	commented := map[string]string{}
	for _, f := range goFiles(t) {
		if f.tree.Doc == nil || strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		text, folder, name := f.tree.Doc.Text(), filepath.Dir(f.name), f.tree.Name.Name
		if !strings.HasPrefix(text, "Package "+name+" ") && !strings.HasPrefix(text, "Command ") {
			t.Errorf("%s: the comment of package %s begins with %q", f.name, name, strings.SplitN(text, "\n", 2)[0])
		}
		if other := commented[folder]; other != "" {
			t.Errorf("%s and %s both have a comment of package %s", other, f.name, name)
		}
		commented[folder] = f.name
	}
	if len(commented) < 50 {
		t.Errorf("only %d packages have a comment", len(commented))
	}
}
