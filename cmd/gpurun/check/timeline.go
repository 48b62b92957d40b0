package check

import (
	"fmt"
	"io"

	"gpurun/cmd/gpurun/checkreport"
	engine "gpurun/cudart/sim/check"
	"gpurun/worker/result"
)

// mostEvents is how many events a timeline shows.
const mostEvents = 80

// drawTimeline writes the timeline of the first finding that is not suppressed.
func (m *merge) drawTimeline(path string) error {
	if path == "" {
		return nil
	}
	for _, f := range m.found {
		if _, accepted := m.plan.suppressions.match(&f.Finding); accepted || f.Schedule == nil {
			continue
		}
		events, err := f.timeline()
		if err != nil {
			return fmt.Errorf("replaying the first finding for its timeline: %w", err)
		}
		return result.Replace(path, func(w io.Writer) error {
			return checkreport.WriteTimeline(w, m.describe(f), events)
		})
	}
	return nil
}

// mostDrawn is how many findings get their events, for each of which a schedule runs again.
const mostDrawn = 10

// addEvents adds the events around a finding, if a file is written that shows them.
func (m *merge) addEvents(f merged, out *checkreport.Finding) {
	if f.Schedule == nil || m.plan.options.HTML == "" && m.plan.options.JSON == "" {
		return
	}
	events, err := f.timeline()
	if err != nil {
		fmt.Fprintf(m.stderr, "gpurun: warning: the events of a finding are left out: %v\n", err)
		return
	}
	out.Events = events
}

// timeline replays the schedule of a finding.
func (f merged) timeline() ([]checkreport.Event, error) {
	checker, err := engine.New(f.planned.config())
	if err != nil {
		return nil, err
	}
	all, err := checker.Timeline(f.Schedule, &f.Finding, mostEvents, f.planned.task)
	var events []checkreport.Event
	for _, e := range all {
		shorten(&e.Access)
		events = append(events, checkreport.Event{
			Side: side(e.Access), Where: e.Where, Acquire: e.Acquire, Release: e.Release, Barrier: e.Barrier,
		})
	}
	return events, err
}
