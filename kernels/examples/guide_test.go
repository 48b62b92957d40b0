package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The guide shows the kernel that it begins with, and its file, as they are.
func TestGuideShowsTheFiles(t *testing.T) {
	guide := readGuide(t)
	for _, name := range []string{"oneshot.cu", "oneshot.toml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`(?m)^.`)
		if shown := line.ReplaceAllString(string(text), "    $0"); !strings.Contains(guide, shown) {
			t.Errorf("docs/kernel-files.md does not show %s as it is", name)
		}
	}
}

// Every kernel file is tested here, and is in the guide's table.
func TestEveryExampleIsListed(t *testing.T) {
	files, err := filepath.Glob("*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d kernel files: %v", len(files), err)
	}
	guide := readGuide(t)
	for _, file := range files {
		is := func(e example) bool { return e.file+".toml" == file }
		if !slices.ContainsFunc(examples, is) {
			t.Errorf("%s is not tested: add it to examples", file)
		}
		if !regexp.MustCompile(`(?m)^\|[^|]*\b` + regexp.QuoteMeta(file)).MatchString(guide) {
			t.Errorf("docs/kernel-files.md has no row for %s", file)
		}
	}
}

// The guide's commands compile its kernel with source lines, which check names.
func TestGuideCompilesWithSourceLines(t *testing.T) {
	guide := readGuide(t)
	if !regexp.MustCompile(`(?m)^    nvcc -ptx .*-lineinfo `).MatchString(guide) {
		t.Error("docs/kernel-files.md compiles with nvcc and without -lineinfo")
	}
	clang := regexp.MustCompile(`(?m)^    clang-22 .* oneshot.cu$`).FindString(guide)
	if !strings.Contains(clang, " -gline-tables-only ") {
		t.Fatal("docs/kernel-files.md compiles with clang and without -gline-tables-only")
	}
	words := strings.Fields(clang)
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"oneshot.cu", "cuda.cuh"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	ptx, err := os.ReadFile(filepath.Join(folder, "oneshot.ptx"))
	if err != nil || !strings.Contains(string(ptx), "\t.loc\t") {
		t.Errorf("no .loc in the PTX: %v", err)
	}
}

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kernel-files.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
