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
