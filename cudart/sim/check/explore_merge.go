package check

import (
	"fmt"
	"slices"
)

// merge joins the reports of schedules, in the order of their numbers.
type merge struct {
	Explored
	known      map[string]int // index in Findings
	last       []int          // of each finding the number of the last schedule that showed it, counted from 1
	behaviours map[uint64]bool
	pairs      map[sitePair]bool
	results    comparison
	progress   func(Coverage)
}

func newMerge(e Exploration) *merge {
	m := &merge{known: map[string]int{}, behaviours: map[uint64]bool{}, pairs: map[sitePair]bool{}, progress: e.Progress}
	m.Planned = e.Schedules
	return m
}

func (m *merge) add(r result) {
	m.Schedules++
	m.Steps += uint64(r.report.Steps)
	m.WarpInstructions += r.report.WarpInstructions
	m.New = append(m.New, !m.behaviours[r.report.Behaviour])
	m.behaviours[r.report.Behaviour] = true
	m.Behaviours = len(m.behaviours)
	for _, text := range r.report.Incomplete {
		if !slices.Contains(m.Incomplete, text) {
			m.Incomplete = append(m.Incomplete, text)
		}
	}
	if m.Err == nil && r.err != nil {
		m.Err, m.Failed = r.err, r.report.Schedule
	}
	m.addFindings(r.report)
	for _, f := range m.results.add(r.report) {
		m.find(f, r.report.Schedule)
	}
	m.addPairs(r.report.pairs)
	if m.progress != nil {
		m.progress(m.Coverage)
	}
}

func (m *merge) addFindings(r *Report) {
	for _, f := range r.Findings {
		m.find(f, r.Schedule)
	}
}

// find adds a finding, or counts it if an earlier schedule had it.
func (m *merge) find(f Finding, by *Schedule) {
	key := f.Key()
	at, ok := m.known[key]
	if !ok {
		m.known[key] = len(m.Findings)
		m.Findings = append(m.Findings, Found{Finding: f, Schedules: 1, Schedule: by})
		m.last = append(m.last, m.Schedules)
		return
	}
	m.Findings[at].Count += f.Count
	if m.last[at] != m.Schedules { // a schedule may show both orders
		m.Findings[at].Schedules++
		m.last[at] = m.Schedules
	}
}

// Key is the same for findings of one kind and cause at the same instructions, in whichever order they were performed.
func (f *Finding) Key() string {
	var sides []string
	for _, s := range f.Sides {
		sides = append(sides, fmt.Sprintf("%s:%d %s %d", s.Module, s.Line, s.Text, s.Kind))
	}
	slices.Sort(sides)
	return fmt.Sprintf("%s %s %q", f.Kind, f.Cause, sides)
}
