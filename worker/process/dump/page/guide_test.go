package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/hangs.md shows pages of stories, each behind a line that names it. With the flag -update they are written there.
func TestGuide(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "docs", "hangs.md")
	shown, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made := withPages(t, string(shown))
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(shown), made); diff != "" {
		t.Errorf("docs/hangs.md shows other pages; if they are right, write them with -update:\n%s", diff)
	}
}

// withPages replaces the code behind each line <!-- page: NAME --> by the page of that story.
func withPages(t *testing.T, guide string) string {
	t.Helper()
	const code = "    "
	pages := map[string]string{}
	for _, s := range stories() {
		pages[s.name] = write(t, s)
	}
	var b strings.Builder
	lines := strings.SplitAfter(guide, "\n")
	shown := 0
	for i := 0; i < len(lines); i++ {
		b.WriteString(lines[i])
		name, ok := strings.CutPrefix(lines[i], "<!-- page: ")
		if !ok {
			continue
		}
		shown++
		page, ok := pages[strings.TrimSuffix(strings.TrimSpace(name), " -->")]
		if !ok {
			t.Errorf("there is no story %s", name)
		}
		for i+1 < len(lines) && (lines[i+1] == "\n" || strings.HasPrefix(lines[i+1], code)) {
			i++
		}
		b.WriteString("\n")
		for line := range strings.Lines(page) {
			if line != "\n" {
				b.WriteString(code)
			}
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	if shown < 3 {
		t.Errorf("docs/hangs.md shows %d pages", shown)
	}
	return b.String()
}
