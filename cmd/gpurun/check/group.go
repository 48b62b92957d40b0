package check

import (
	"slices"

	"gpurun/cmd/gpurun/checkreport"
	engine "gpurun/cudart/sim/check"
)

// report is what was found, by root causes, without what is suppressed.
func (m *merge) report() checkreport.Report {
	r := m.result
	places := make([]int, len(m.found)) // in the report's findings, or -1
	var kept []engine.Found
	var from []int // where in m.found they are
	for i, f := range m.found {
		if reason, ok := m.plan.suppressions.match(&f.Finding); ok {
			r.Suppressed = append(r.Suppressed, checkreport.Suppressed{Finding: m.describe(f), Reason: reason})
			places[i] = -1
			continue
		}
		kept, from = append(kept, f.Found), append(from, i)
	}
	add := func(k int, role string, group int) *checkreport.Finding {
		out := m.describe(m.found[from[k]])
		out.Role, out.Group = role, group
		places[from[k]] = len(r.Findings)
		r.Findings = append(r.Findings, out)
		return &r.Findings[len(r.Findings)-1]
	}
	for number, g := range engine.Group(kept) {
		cause := len(r.Findings)
		first := add(g.First, checkreport.Cause, cause)
		m.save(m.found[from[g.First]], first, number+1)
		if number < mostDrawn && !m.cut { // for which a schedule runs again
			m.addEvents(m.found[from[g.First]], first)
		}
		for _, k := range g.Pairs {
			add(k, checkreport.Pair, cause).Same = g.Same
		}
		for _, k := range g.Consequences {
			add(k, checkreport.Consequence, cause)
		}
	}
	for i := range r.Cases {
		var kept []int
		for _, at := range r.Cases[i].Findings {
			if places[at] >= 0 {
				kept = append(kept, places[at])
			}
		}
		slices.Sort(kept)
		r.Cases[i].Findings = kept
	}
	r.UnusedSuppressions = m.plan.suppressions.unused()
	r.Incomplete = m.incomplete
	r.Verdict, r.ExitCode = verdict(r)
	return r
}
