// Package page writes what is known about the ranks of a job that hangs or fails onto one page: first a sentence that
// names the rank that the others wait for, and then the groups of ranks that do the same.
//
// A sentence is only written where something was collected that supports it, and the line below it names that. Where
// nothing can be concluded, the page says so.
package page

import (
	"fmt"
	"io"
	"strings"

	"gpurun/worker/process/dump"
)

const (
	columns = 100
	height  = 60 // lines of a page

	mostFindings = 5
	mostGroups   = 8  // of ranks that do the same
	mostFrames   = 12 // of a group
	mostMissing  = 6
)

// Write writes the page about the ranks that were collected. missing says what else was not, a sentence each.
func Write(w io.Writer, ranks []dump.Rank, missing []string) error {
	p := page{}
	j := newJob(ranks)
	p.conclusion(j)
	tail := page{}
	tail.collectives(j)
	tail.gpus(j)
	tail.missing(j, missing)
	tail.shorten(height - len(p.lines))
	p.groups(j, height-len(p.lines)-len(tail.lines))
	p.lines = append(p.lines, tail.lines...)
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	return err
}

type page struct{ lines []string }

// line adds a line. What does not fit is cut.
func (p *page) line(format string, values ...any) {
	p.lines = append(p.lines, cut(clean(fmt.Sprintf(format, values...)), columns))
}

// shorten leaves so many lines, of which the last one says how many are left out. lines is at least 1.
func (p *page) shorten(lines int) {
	if more := len(p.lines) - lines + 1; more > 1 {
		p.lines = p.lines[:lines-1]
		p.line("and %d more lines", more)
	}
}

// text adds a text of several lines, the first and the later ones indented.
func (p *page) text(text, first, later string) {
	line := ""
	for _, word := range strings.Fields(clean(text)) {
		switch {
		case line == "":
			line = first + word
		case len([]rune(line))+1+len([]rune(word)) > columns:
			p.line("%s", line)
			line = later + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
}

// conclusion writes what was found, or why nothing was.
func (p *page) conclusion(j job) {
	findings := j.findings()
	if len(findings) == 0 {
		p.text(j.inconclusive(), "", "  ")
	}
	for i, f := range findings[:min(len(findings), mostFindings)] {
		text := f.text
		if i > 0 {
			text = "also: " + text
		}
		p.text(cut(clean(text), 4*columns), "", "  ")
		if f.evidence != "" {
			p.line("  seen by %s", f.evidence)
		}
	}
	if more := len(findings) - mostFindings; more > 0 {
		p.line("also: %d more findings of this kind", more)
	}
}

// inconclusive says what would have to be known.
func (j job) inconclusive() string {
	if len(j.ranks) == 0 {
		return "no rank was collected"
	}
	if ranks := j.living(); len(ranks) == 0 {
		return fmt.Sprintf("all %d ranks that were collected have ended", len(j.ranks))
	}
	places, _ := by(j.living(), func(r rank) activity { return r.activity })
	why := fmt.Sprintf("the ranks stand in %d places, and none waits in torch.distributed", len(places))
	stacks := j.numbers(func(r rank) bool { return len(r.thread.Python) > 0 })
	switch {
	case len(stacks) == 0:
		why = "no Python stack was collected"
	case len(places) == 1:
		why = "all ranks that told a stack are at the same place, which is no wait that is known here"
	}
	return fmt.Sprintf("why the job makes no progress cannot be concluded: %s", why)
}
