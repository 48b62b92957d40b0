package check

import (
	"slices"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/schedule"
)

// merge joins the reports of schedules, in the order of their numbers.
type merge struct {
	Explored
	known     map[string]int // index in Findings
	last      []int          // of each finding the number of the last schedule that showed it, counted from 1
	lastNew   int            // the number of the schedule that has found something new
	behaviors map[uint64]bool
	pairs     map[sitePair]bool
	orders    map[uint64]bool
	lastOrder int // the number of the last schedule that has shown a new one
	results   comparison
	progress  func(Coverage)
	each      func(*Report, error)
}

func newMerge(e Exploration) *merge {
	m := &merge{
		known: map[string]int{}, behaviors: map[uint64]bool{}, pairs: map[sitePair]bool{}, orders: map[uint64]bool{},
		progress: e.Progress, each: e.Each,
	}
	m.Planned = e.Schedules
	return m
}

// Explored is the report of one schedule, and the error of its tasks, as those of an exploration.
func (r *Report) Explored(err error) *Explored {
	m := newMerge(Exploration{Schedules: 1})
	m.add(result{report: r, err: err})
	return &m.Explored
}

func (m *merge) add(r result) {
	m.Schedules++
	m.Steps += uint64(r.report.Steps)
	m.WarpInstructions += r.report.WarpInstructions
	m.Blocks.Begun, m.Blocks.Ended = m.Blocks.Begun+r.report.Blocks.Begun, m.Blocks.Ended+r.report.Blocks.Ended
	for _, k := range r.report.Kernels {
		m.Kernels = useKernel(m.Kernels, k.Module, k.Entry, k.Launches)
	}
	m.New = append(m.New, !m.behaviors[r.report.Behavior])
	m.behaviors[r.report.Behavior] = true
	m.Behaviors = len(m.behaviors)
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
		m.find(f, "", r.report.Schedule)
	}
	m.addPairs(r.report.pairs)
	m.addOrders(r.report.orders)
	if m.each != nil {
		m.each(r.report, r.err)
	}
	if m.progress != nil {
		m.progress(m.Coverage)
	}
}

func (m *merge) addFindings(r *Report) {
	for _, f := range r.Findings {
		m.find(f, finding.Because(&f, r.Findings), r.Schedule)
	}
}

// isStable reports whether a mistake was found, and nothing more by so many schedules in a row.
func (m *merge) isStable(schedules int) bool {
	mistake := func(f Found) bool { return !f.Note }
	return schedules > 0 && slices.ContainsFunc(m.Findings, mistake) && m.Schedules-m.lastNew >= schedules
}

// isSettled reports whether nothing was found, and nothing in a new order by so many schedules.
func (m *merge) isSettled(schedules int) bool {
	return schedules > 0 && len(m.Findings)+len(m.Incomplete) == 0 && m.Err == nil && m.Schedules-m.lastOrder >= schedules
}

// find adds a finding, or counts it if an earlier schedule had it. Another one of the schedule may be why it is there.
func (m *merge) find(f Finding, why string, by *schedule.Schedule) {
	key := f.Key()
	at, ok := m.known[key]
	if !ok {
		at = len(m.Findings)
		m.known[key], m.lastNew = at, m.Schedules
		m.Findings, m.last = append(m.Findings, Found{Finding: f, Schedule: by, Number: m.Schedules}), append(m.last, 0)
		m.Findings[at].Count = 0
	}
	known := &m.Findings[at]
	known.Count += f.Count
	if m.last[at] == m.Schedules { // a schedule may show both orders
		return
	}
	known.Schedules++
	m.last[at] = m.Schedules
	if known.Because == "" {
		known.Because = why
	}
	if why == "" {
		known.Alone++
	}
}
