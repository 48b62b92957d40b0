package examples

import (
	"os"
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

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kernel-files.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
