package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gpurun/cudart/driver"
	"gpurun/worker/golden"
)

var _ = golden.Check // which defines -update

// outputPages are the documents that show outputs behind lines "    $ gpurun ...". Each has the files that its commands
// need: from a folder in the repository to one below the folder where they run. docs/check-zoo.md has its own test.
var outputPages = map[string]map[string]string{
	"README.md":                {"kernels/examples": "kernels/examples"},
	"docs/benchmarking.md":     {"cmd/gpurun/testdata/outputs/compare": "."},
	"docs/check.md":            {"cmd/gpurun/testdata/check": "."},
	"docs/collectives.md":      {},
	"docs/configuration.md":    {"cmd/gpurun/testdata/outputs/configuration": "."},
	"docs/doctor-and-smoke.md": {},
	"docs/exit-codes.md":       {},
	"docs/inspect.md":          {"cmd/gpurun/testdata/outputs/inspect": "."},
	"docs/kernel-files.md":     {"kernels/examples": ".", "cmd/gpurun/testdata/outputs/kernel-files": "."},
	"docs/kernel-files-reference.md": {
		"kernels/examples": ".", "cmd/gpurun/testdata/outputs/reference": ".",
	},
	"docs/litmus.md":           {"cmd/gpurun/testdata/outputs/litmus": "."},
	"docs/several-machines.md": {},
	"docs/products.md":         {},
}

// A command behind "$ " in a document prints what the document shows below it. The line "..." stands for lines that are
// left out, and "..." in a line for a part of it. The flag -update writes outputs that differ into the documents.
func TestOutputsOfDocuments(t *testing.T) {
	if _, err := driver.New().Devices(); err == nil {
		t.Skip("the documents show what a machine without a GPU prints")
	}
	gpurun := executable(t)
	for _, name := range documents(t) {
		if name == "docs/check-zoo.md" {
			continue
		}
		page := readDocument(t, name)
		files, listed := outputPages[name]
		if shown := commandOfOutput.MatchString(page); shown != listed {
			t.Errorf("%s shows outputs: %v; it is in outputPages: %v", name, shown, listed)
		}
		if listed {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compareOutputs(t, gpurun, name, page, files)
			})
		}
	}
}

// compareOutputs runs the commands of a page one after the other, in one folder.
func compareOutputs(t *testing.T, gpurun, name, page string, files map[string]string) {
	folder := t.TempDir()
	for from, to := range files {
		if err := os.CopyFS(filepath.Join(folder, to), os.DirFS(filepath.Join(repository, from))); err != nil {
			t.Fatal(err)
		}
	}
	made := withOutputs(page, func(command, shown string) string {
		out := outputOf(t, gpurun, folder, command)
		if outputPattern(shown).MatchString(masked(out)) {
			return shown
		}
		if !updates() {
			t.Errorf("%s shows another output of gpurun %s: if it is right, write it with -update\n%s", name, command, out)
		}
		return out
	})
	if updates() {
		if err := os.WriteFile(filepath.Join(repository, name), []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func updates() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// codeIndent begins each line of code.
const codeIndent = "    "

// commandOfOutput is a command whose output follows: variables, and what is behind gpurun.
var commandOfOutput = regexp.MustCompile(`(?m)^    \$ ((?:[A-Z_]+=\S* )*)(?:\./)?gpurun (.*)\n`)

// withOutputs gives the output of each command of a page to replace, and puts in its place what replace returns. An
// output ends where the code ends, or at the next command.
func withOutputs(page string, replace func(command, shown string) string) string {
	var b strings.Builder
	lines := strings.SplitAfter(page, "\n")
	for i := 0; i < len(lines); i++ {
		b.WriteString(lines[i])
		found := commandOfOutput.FindStringSubmatch(lines[i])
		if found == nil {
			continue
		}
		var shown strings.Builder
		for ; i+1 < len(lines) && outputGoesOn(lines[i+1:]); i++ {
			shown.WriteString(strings.TrimPrefix(lines[i+1], codeIndent))
		}
		for line := range strings.Lines(replace(found[1]+found[2], shown.String())) {
			if line != "\n" {
				b.WriteString(codeIndent)
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// outputGoesOn reports whether the first of the lines is code, or an empty line inside of code, and no command.
func outputGoesOn(lines []string) bool {
	next := lines[0]
	if next == "\n" && len(lines) > 1 {
		next = lines[1]
	}
	return strings.HasPrefix(next, codeIndent) && !strings.HasPrefix(next, codeIndent+"$ ")
}

// outputOf runs a command, which may begin with variables. It returns both streams, without blanks at ends of lines.
func outputOf(t *testing.T, gpurun, folder, command string) string {
	words, variables := shellWords(command), append(os.Environ(), "GITHUB_ACTIONS=", "NO_COLOR=1")
	for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
		words, variables = words[1:], append(variables, words[0])
	}
	cmd := exec.Command(gpurun, words...)
	cmd.Dir, cmd.Env = folder, variables
	out, err := cmd.CombinedOutput()
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		t.Fatalf("gpurun %s: %v", command, err)
	}
	return regexp.MustCompile(`(?m)[ \r]+$`).ReplaceAllString(string(out), "")
}

// varying is what differs from run to run: process ids, hosts, measured times and rates, which rank was the first to
// fail, and the number of decisions of a schedule, which changes with the scheduler.
var varying = []struct {
	text *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`(?i)pid +\d+`), "pid N"},
	{regexp.MustCompile(`on +\S+ +device`), "on HOST device"},
	{resultRow, "$1 T$2 T"},
	{benchRow, "$1 T"},
	{regexp.MustCompile(`link ceiling: .*`), "link ceiling: T"},   // one of two ways to copy is the faster
	{regexp.MustCompile(`(auto \(\w+\))(?: +[\d.]+){3}`), "$1 T"}, // of a product
	{regexp.MustCompile(` *\b\d+(\.\d+)?% under`), " T under"},    // a rate of a loaded machine is 100% under
	{regexp.MustCompile(` *\b\d+\.\d+(s|%)?`), " T"},
	{regexp.MustCompile(`of \d+ decisions`), "of N decisions"},
	{regexp.MustCompile(`rank \d+ \(pid`), "rank N (pid"},
	{regexp.MustCompile(`the other rank was|(the other \d+|\d+ other) ranks? w(as|ere)`), "other ranks were"},
}

// resultRow is a row of a collective's table, up to the count of wrong elements in place. Long times have no point.
var resultRow = regexp.MustCompile(
	`(?m)^( *\d+ +\d+ +\w+ +\w+ +-?\d+)(?: +[\d.]+){3}( +\d+)(?: +[\d./NA]+){3}`)

// benchRow is a row of bench's table, up to the algorithm. Rows of compare end with a verdict, and stay.
var benchRow = regexp.MustCompile(`(?m)^( +\d+[KMG]?  \S+(?: \(\w+\))?) .* (?:-|\d+)$`)

func masked(output string) string {
	for _, v := range varying {
		output = v.text.ReplaceAllString(output, v.mask)
	}
	return output
}

// outputPattern matches the outputs that a document shows by this one.
func outputPattern(shown string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(masked(shown))
	const dots = `\.\.\.`
	lines := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(dots)+`\n`).ReplaceAllString(quoted, `(?s:.*?)`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(lines, dots, `.*`) + `$`)
}

// docs/kernel-files.md shows the draft that "gpurun kernel init" makes of its first kernel.
func TestDraftOfGuide(t *testing.T) {
	ptx, err := os.ReadFile(filepath.Join(repository, "kernels", "examples", "oneshot.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "oneshot.ptx"), ptx, 0o644); err != nil {
		t.Fatal(err)
	}
	said := outputOf(t, executable(t), folder, "kernel init oneshot.ptx")
	draft, err := os.ReadFile(filepath.Join(folder, "oneshot.toml"))
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	shows(t, filepath.Join("docs", "kernel-files.md"), string(draft))
}

// README.md shows a kernel file as it is.
func TestREADMEShowsAKernelFile(t *testing.T) {
	shows(t, "README.md", readDocument(t, filepath.Join("kernels", "examples", "oneshot.toml")))
}

// shows checks that a document has a text as code.
func shows(t *testing.T, name, text string) {
	t.Helper()
	code := regexp.MustCompile(`(?m)^.`).ReplaceAllString(text, codeIndent+"$0")
	if !strings.Contains(readDocument(t, name), code) {
		t.Errorf("%s does not show\n%s", name, code)
	}
}

// Outputs are found between commands and text, and compared but for what varies.
func TestOutputsAreFound(t *testing.T) {
	page := "A\n\n    $ X=1 gpurun a\n    1\n\n      2\n    $ gpurun b\n\nB\n\n    $ ./gpurun c -x\n    3\n"
	var all []string
	made := withOutputs(page, func(command, shown string) string {
		all = append(all, command, shown)
		return shown
	})
	want := []string{"X=1 a", "1\n\n  2\n", "b", "", "c -x", "3\n"}
	if made != page || strings.Join(all, "|") != strings.Join(want, "|") {
		t.Errorf("got %q and %q", all, made)
	}
	for _, c := range []struct {
		shown, output string
		same          bool
	}{
		{"rank 1 (pid 7) failed\n", "rank 0 (pid 8123) failed\n", true},
		{"a   1.25 us\n", "a 910.50 us\n", true},
		{"a\n...\nc\n", "a\nb\nb\nc\n", true},
		{"a\n...\nc\n", "a\nb\nb\n", false},
		{"...\nc\n", "a\nc\n", true},
		{"a\n", "a\nb\n", false},
		{"a, ..., c\n", "a, b, c\n", true},
		{"a, ..., c\n", "a,\n b, c\n", false},
		{"1 of 3 elements\n", "2 of 3 elements\n", false},
		{"0.02 GB/s, 99.99% under\n", "0.01 GB/s, 100% under\n", true},
		{"all, 100% under\n", "all, 100% over\n", false},
	} {
		if outputPattern(c.shown).MatchString(masked(c.output)) != c.same {
			t.Errorf("%q for %q: not %v", c.shown, c.output, c.same)
		}
	}
}
