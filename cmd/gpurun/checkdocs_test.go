package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/golden"
	"gpurun/worker/process/guard"
)

// The outputs that docs/check.md shows are those of its commands, which run where the files of testdata/check are. With
// the flag -update they are written into the page.
func TestCheckGuide(t *testing.T) {
	page, err := filepath.Abs(filepath.Join(repository, "docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "check"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	made, commands := withOutputs(string(shown))
	if commands < 3 {
		t.Errorf("the page shows the output of %d commands", commands)
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// How many decisions a schedule has changes with each change of the scheduler.
	decisions := regexp.MustCompile(`of \d+ decisions`)
	same := func(text string) string { return decisions.ReplaceAllString(text, "of N decisions") }
	if diff := cmp.Diff(same(string(shown)), same(made)); diff != "" {
		t.Errorf("docs/check.md shows other outputs; if they are right, write them with -update:\n%s", diff)
	}
}

var _ = golden.Check // which defines -update

// withOutputs replaces what follows each line "    $ gpurun ..." of a page, up to the end of the code, by what the
// command prints.
func withOutputs(page string) (made string, commands int) {
	const code = "    "
	var b strings.Builder
	lines := strings.SplitAfter(page, "\n")
	for i := 0; i < len(lines); i++ {
		b.WriteString(lines[i])
		command, ok := strings.CutPrefix(lines[i], code+"$ gpurun ")
		if !ok {
			continue
		}
		commands++
		for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], code) || lines[i+1] == "\n" && i+2 < len(lines) &&
			strings.HasPrefix(lines[i+2], code)) {
			i++
		}
		for line := range strings.Lines(outputOf(shellWords(strings.TrimSpace(command)))) {
			if line != "\n" {
				b.WriteString(code)
			}
			b.WriteString(line)
		}
	}
	return b.String(), commands
}

// outputOf runs a command in this process.
func outputOf(words []string) string {
	var out bytes.Buffer
	a := &program.Invocation{
		Args: append([]string{"gpurun"}, words...), Out: &out, Err: &out, Lifeline: &guard.Lifeline{},
	}
	root := newRootCommand(a)
	root.SetArgs(words)
	root.SetOut(&out)
	root.SetErr(&out)
	printError(&out, root.Execute())
	return out.String()
}

// Every field of the JSON is in docs/check.md.
func TestCheckGuideNamesAllFields(t *testing.T) {
	page := readDocument(t, filepath.Join("docs", "check.md"))
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(x reflect.Type) {
		for x.Kind() == reflect.Slice {
			x = x.Elem()
		}
		if x.Kind() != reflect.Struct || seen[x] {
			return
		}
		seen[x] = true
		for i := range x.NumField() {
			f := x.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" &&
				!strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/check.md does not name %s of %s", name, x)
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[checkreport.Report]())
	if len(seen) < 5 {
		t.Errorf("%d types", len(seen))
	}
}
