package check

import (
	"slices"
	"sync"
	"time"
)

// shrinkAll makes the schedules of findings shorter. One run without any decision of a strategy often shows several of
// them. What it does not show is shrunk several at the same time, for the first finding of each root cause alone.
func (c *Checker) shrinkAll(e Exploration, all *Explored, task func(*Rank) error) {
	if e.ShrinkRuns < 1 || len(all.Findings) == 0 {
		return
	}
	report, trace := c.replayed(nil, task)
	var rest []*Found
	for i := range all.Findings {
		if f := &all.Findings[i]; report.has(f.Key()) {
			f.shorten(nil, trace)
		}
	}
	for _, g := range Group(all.Findings) {
		if f := &all.Findings[g.First]; f.Shrunk == 0 && len(f.Schedule.Turns) > 0 {
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
				c.shrink(e, f, task)
			}
		})
	}
	workers.Wait()
}

// replayed runs the turns of a schedule.
func (c *Checker) replayed(turns Turns, task func(*Rank) error) (report *Report, trace uint64) {
	r, _ := c.run(&replay{turns: turns}, task)
	return r.report(), uint64(r.trace)
}

// has reports whether a run has shown the finding of a key.
func (r *Report) has(key string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Key() == key })
}

// shorten replaces the schedule of a finding.
func (f *Found) shorten(turns Turns, trace uint64) {
	shorter := *f.Schedule
	f.Shrunk = len(shorter.Turns)
	shorter.Turns, shorter.Trace = slices.Clone(turns), trace
	f.Schedule = &shorter
}

// shrink replaces the schedule of a finding by one with fewer decisions that shows the same.
func (c *Checker) shrink(e Exploration, f *Found, task func(*Rank) error) {
	s := shrinking{runs: e.ShrinkRuns, turns: f.Schedule.Turns}
	s.shows = func(turns Turns) bool {
		s.runs--
		report, trace := c.replayed(turns, task)
		found := report.has(f.Key())
		if found {
			s.best, s.trace = turns, trace
		}
		return found
	}
	s.over = func() bool { return s.runs < 1 || !e.Deadline.IsZero() && !time.Now().Before(e.Deadline) }
	s.shrink()
	if s.trace != 0 {
		f.shorten(s.best, s.trace)
	}
}

// shrinking looks for a short list of turns that still shows something, by delta debugging (Zeller and Hildebrandt,
// "Simplifying and Isolating Failure-Inducing Input", TSE 2002). Behind the last turn, steady chooses.
type shrinking struct {
	turns Turns // the shortest so far
	shows func(Turns) bool
	over  func() bool
	runs  int // that are left

	best  Turns
	trace uint64 // of best; 0: no shorter one was found
}

func (s *shrinking) shrink() {
	s.cutEnd()
	for size := (len(s.turns) + 1) / 2; size > 0 && !s.over(); size /= 2 {
		for s.without(size) && !s.over() {
		}
	}
	s.lengthen()
}

// try takes a list over if it shows the same.
func (s *shrinking) try(turns Turns) bool {
	if s.over() || !s.shows(turns) {
		return false
	}
	s.turns = turns
	return true
}

// cutEnd leaves out as many turns at the end as it can find by halving.
func (s *shrinking) cutEnd() {
	for low, high := 0, len(s.turns); low < high && !s.over(); {
		middle := (low + high) / 2
		if s.try(s.turns[:middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
}

// without leaves out so many turns in a row wherever it can, the last ones first. It reports whether it has.
func (s *shrinking) without(size int) (some bool) {
	for end := len(s.turns); end > 0 && !s.over(); end -= size {
		begin := max(0, end-size)
		some = s.try(slices.Concat(s.turns[:begin], s.turns[end:])) || some
	}
	return some && len(s.turns) > 0
}

// lengthen makes turns end by themselves, where that shows the same.
func (s *shrinking) lengthen() {
	for i := range s.turns {
		if s.turns[i].most < forever {
			longer := slices.Clone(s.turns)
			longer[i].most = forever
			s.try(longer)
		}
	}
}
