package check

import (
	"errors"
	"slices"
	"sync"
	"time"

	"gpurun/cudart/sim/check/schedule"
)

// shrinkAll makes the schedules of findings shorter. One run without any decision of a strategy often shows several of
// them. What it does not show is shrunk several at the same time, for the first finding of each root cause alone.
func (c *Checker) shrinkAll(e Exploration, all *Explored, task func(*Rank) error) {
	shows := func(f Found) bool { return f.Kind != EndlessLoop } // without a run that takes the whole budget
	if e.ShrinkRuns < 1 || !slices.ContainsFunc(all.Findings, shows) {
		return
	}
	over := e.untilOver(e.ShrinkTime)
	report, trace := c.replayed(over, nil, task)
	var rest []*Found
	for i := range all.Findings {
		f := &all.Findings[i]
		if shown, ok := report.find(f.Key()); ok {
			shorten(f, shown, nil, trace)
		}
	}
	for _, g := range Group(all.Findings) {
		if f := &all.Findings[g.First]; f.Shrunk == 0 && len(f.Schedule.Turns) > 0 && shows(*f) {
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return
	}
	e.ShrinkRuns = max(1, (e.ShrinkRuns-1)/len(rest))
	found := make(chan *Found, len(rest))
	for _, f := range rest {
		found <- f
	}
	close(found)
	var workers sync.WaitGroup
	for range e.Workers {
		workers.Go(func() {
			for f := range found {
				c.shrink(e, f, over, task)
			}
		})
	}
	workers.Wait()
}

// untilOver is true from when the exploration has to end, or so much time has passed; 0 is no limit.
func (e *Exploration) untilOver(most time.Duration) func() bool {
	end := e.Deadline
	if limit := time.Now().Add(most); most > 0 && (end.IsZero() || limit.Before(end)) {
		end = limit
	}
	return func() bool { return e.stopped() || !end.IsZero() && !time.Now().Before(end) }
}

// replayed runs the turns of a schedule. What is over before its end shows nothing.
func (c *Checker) replayed(over func() bool, turns schedule.Turns, task func(*Rank) error) (report *Report,
	trace uint64,
) {
	r, err := c.runUntil(over, &replay{turns: turns}, task)
	if errors.Is(err, errStopped) {
		return &Report{}, 0
	}
	return r.report(), uint64(r.trace)
}

// find is the finding of a key, if a run has shown it.
func (r *Report) find(key string) (Finding, bool) {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Key() == key })
	if i < 0 {
		return Finding{}, false
	}
	return r.Findings[i], true
}

// shorten replaces the schedule of a finding, and what the finding names by what a replay of that schedule shows.
func shorten(f *Found, shown Finding, turns schedule.Turns, trace uint64) {
	shown.Count, shown.Note = f.Count, f.Note
	f.Finding = shown
	shorter := *f.Schedule
	f.Shrunk = len(shorter.Turns)
	shorter.Turns, shorter.Trace = slices.Clone(turns), trace
	f.Schedule = &shorter
}

// shrink replaces the schedule of a finding by one with fewer decisions that shows the same.
func (c *Checker) shrink(e Exploration, f *Found, allOver func() bool, task func(*Rank) error) {
	left, trace, last, thisOver := e.ShrinkRuns, uint64(0), f.Finding, e.untilOver(e.ShrinkEach)
	over := func() bool { return allOver() || thisOver() }
	shows := func(turns schedule.Turns) bool {
		left--
		report, of := c.replayed(over, turns, task)
		shown, ok := report.find(f.Key())
		if ok {
			trace, last = of, shown
		}
		return ok
	}
	enough := func() bool { return left < 1 || over() }
	if turns := schedule.Shrink(f.Schedule.Turns, shows, enough); trace != 0 {
		shorten(f, last, turns, trace)
	}
}
