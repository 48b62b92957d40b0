package check

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	engine "gpurun/cudart/sim/check"
	"gpurun/worker/golden"
)

var _ = golden.Check // which defines -update

// zooPage is docs/check-zoo.md: a section for each mistake, with lines of its source and then, behind the command
// "$ gpurun check NAME.toml", the finding that explains it.
type zooPage struct {
	path string
	text string
}

// code is in front of each line of code.
const code = "    "

func readZooPage(t *testing.T) *zooPage {
	p := &zooPage{path: filepath.Join("..", "..", "..", "docs", "check-zoo.md")}
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	p.text = string(text)
	return p
}

// section is where the section of a mistake begins and ends.
func (p *zooPage) section(name string) (begin, end int) {
	begin = strings.Index(p.text, "\n## "+name+"\n")
	if begin < 0 {
		return 0, 0
	}
	end = len(p.text)
	if next := strings.Index(p.text[begin+1:], "\n## "); next >= 0 {
		end = begin + 1 + next
	}
	return begin, end
}

// check compares the section of a mistake with its source and with what was found. With -update it takes the finding.
func (p *zooPage) check(t *testing.T, name string, want zooFinding, f engine.Finding) {
	begin, end := p.section(name)
	shown := p.text[begin:end]
	excerpt, output, found := strings.Cut(shown, code+"$ gpurun check "+name+".toml\n")
	if !found {
		t.Fatalf("the page has no section of %s with its command", name)
	}
	source, err := os.ReadFile(filepath.Join(zooFolder, name+zooSource(name)))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(excerpt) {
		if line, ok := strings.CutPrefix(line, code); ok {
			lines++
			if !strings.Contains(string(source), strings.TrimSpace(line)) {
				t.Errorf("the page shows a line that the source does not have: %s", line)
			}
		}
	}
	if lines == 0 {
		t.Error("the page shows no line of the source")
	}
	var old strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, code) {
			break
		}
		old.WriteString(line)
	}
	made := code + strings.ReplaceAll(strings.TrimSpace(shortFinding(f)), "\n", "\n"+code) + "\n"
	if updates() {
		p.text = p.text[:begin] + strings.Replace(shown, old.String(), made, 1) + p.text[end:]
		return
	}
	if diff := cmp.Diff(withoutNumbers(old.String()), withoutNumbers(made)); diff != "" {
		t.Errorf("docs/check-zoo.md shows another finding; if this one is right, write it with -update:\n%s", diff)
	}
}

// write writes the page, with -update.
func (p *zooPage) write(t *testing.T) {
	if !updates() {
		return
	}
	if err := os.WriteFile(p.path, []byte(p.text), 0o644); err != nil {
		t.Error(err)
	}
}

func updates() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// zooSource is the end of the name of what a section shows: the steps of a kernel file, or the kernel.
func zooSource(name string) string {
	switch name {
	case "late_zero", "rank_grid":
		return ".toml"
	}
	return ".cu"
}

// shortFinding is the text of a finding. Of what waits in a deadlock it has the first word that is polled.
func shortFinding(f engine.Finding) string {
	if len(f.Waits) == 0 {
		return f.String()
	}
	lines := []string{f.Headline()}
	for _, w := range f.Waits {
		if w.Kernel != "" {
			lines = append(lines, "  "+w.String(), "  ...")
			break
		}
	}
	for _, line := range f.Reasons() {
		lines = append(lines, "  "+line)
	}
	return strings.Join(lines, "\n")
}

// withoutNumbers leaves out which ranks, blocks and warps have raced first, where, and in which line of the PTX: that
// changes with the scheduler and the compiler. Lines of the sources stay.
func withoutNumbers(text string) string {
	numbers := regexp.MustCompile(`\.cuh?:\d+|0x[0-9a-f]+|\b\d+\b|%\w+`)
	text = numbers.ReplaceAllStringFunc(text, func(number string) string {
		if strings.HasPrefix(number, ".cu") {
			return number
		}
		return "N"
	})
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}
