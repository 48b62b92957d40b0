package doctor

import (
	"fmt"
	"strings"

	"gpurun/worker/result/webpage"
)

// Page is the document of a diagnosis.
func Page(title string, d Diagnosis) webpage.Document {
	page := webpage.Document{Title: title, Status: webpage.StatusOf(d.Worst()), Verdict: d.count()}
	t := webpage.Table{Caption: "Findings", Columns: []webpage.Column{
		{Title: "status"}, {Title: "check"}, {Title: "finding"}, {Title: "what to do"},
	}}
	for _, f := range d.Findings {
		t.Rows = append(t.Rows, []webpage.Cell{
			{Text: string(f.Status), Status: webpage.StatusOf(f.Status)},
			{Text: f.Check},
			{Text: strings.Join(append([]string{f.Summary}, f.Details...), "; ")},
			{Text: f.Advice},
		})
		if f.Status == Fail {
			page.Reasons = append(page.Reasons, f.Check+": "+f.Summary)
		}
	}
	page.Sections = []webpage.Section{{Title: "Findings", Tables: []webpage.Table{t}}}
	if len(d.Pairs) > 0 {
		page.Sections = append(page.Sections, webpage.Pairs(d.Pairs, ""))
	}
	if len(d.Topology) > 0 {
		page.Sections = append(page.Sections, webpage.Section{
			Title: "Topology", Tables: []webpage.Table{topology(d.Topology)},
		})
	}
	for _, g := range d.Devices {
		page.Facts = append(page.Facts, webpage.Fact{
			Name: fmt.Sprintf("GPU %d", g.Index), Value: fmt.Sprintf("%s, compute capability %s, %s", g.Name, g.Compute, g.UUID),
		})
	}
	return page
}

// count says how many checks ended how.
func (d Diagnosis) count() string {
	counts := map[Status]int{}
	for _, f := range d.Findings {
		counts[f.Status]++
	}
	return fmt.Sprintf("%d checks: %d OK, %d WARN, %d FAIL", len(d.Findings), counts[OK], counts[Warn], counts[Fail])
}

func topology(words [][]string) webpage.Table {
	t := webpage.Table{Caption: "How GPUs reach each other", Columns: []webpage.Column{{Title: "GPU"}}}
	for from, row := range words {
		t.Columns = append(t.Columns, webpage.Column{Title: fmt.Sprint(from)})
		cells := []webpage.Cell{{Text: fmt.Sprint(from)}}
		for _, word := range row {
			cells = append(cells, webpage.Cell{Text: word})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
