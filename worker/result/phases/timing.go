package phases

import (
	"maps"
	"slices"
	"time"
)

// Timing attributes the time of a run to its critical path: a phase counts from when the
// last rank finished the phase before it. Times are in milliseconds from the start of
// the launcher.
type Timing struct {
	// FirstVerified is when the first call was verified on all ranks. FirstResult is when
	// the first case had been timed, verified again and reported. 0: a rank did not finish
	// its work, or nothing was verified.
	FirstVerified float64 `json:"first_verified_ms"`
	FirstResult   float64 `json:"first_result_ms"`
	Total         float64 `json:"total_ms"`
	// Path is the critical path, a row for each phase. The times on the path add up to
	// Total.
	Path []Row `json:"path"`
	// Ranks are the phases of each rank.
	Ranks []Rank `json:"ranks"`
}

// Row is a phase of all ranks. The longest times of all phases add up to more than the
// run took: a rank that finishes a phase early waits in the next one.
type Row struct {
	Phase Phase `json:"phase"`
	// Rank is the one that took longest, from Begin on and for Time; -1: the launcher.
	Rank  int     `json:"rank"`
	Begin float64 `json:"begin_ms"`
	Time  float64 `json:"time_ms"`
	// OnPath is by how much the phase delayed the run: the time from when the last rank
	// finished the phase before until the last rank finished this one. A concurrent span
	// delays nothing.
	OnPath     float64 `json:"path_ms"`
	Concurrent bool    `json:"beside,omitempty"`
}

// Rank is one rank's phases.
type Rank struct {
	Rank   int   `json:"rank"`
	Phases []Row `json:"phases"`
}

// Worker is what is known of one worker's time. Times are since the machine's boot.
type Worker struct {
	Rank            int
	Started, Exited time.Duration // as the launcher saw it; a worker that did not die of SIGKILL has no Exited
	// Spans are those that the worker recorded; none: it failed before it reported them.
	Spans []Span
}

// spans are all of the worker's, from the fork to the exit.
func (w Worker) spans() []Span {
	last := len(w.Spans) - 1
	for last >= 0 && w.Spans[last].Concurrent {
		last--
	}
	if last < 0 {
		return nil
	}
	all := append([]Span{{Phase: Start, Begin: w.Started, End: w.Spans[0].Begin}}, w.Spans...)
	if end := w.Spans[last].End; w.Exited >= end {
		all = append(all, Span{Phase: Exit, Begin: end, End: w.Exited})
	}
	return all
}

// launcherRank stands for the launcher.
const launcherRank = -1

// NewTiming combines the launcher's spans with those of its workers.
func NewTiming(launcher []Span, workers []Worker) Timing {
	t := Timing{Path: []Row{}, Ranks: []Rank{}}
	if len(launcher) == 0 {
		return t
	}
	origin := launcher[0].Begin
	all := map[int][]Span{launcherRank: untilForked(launcher, workers)}
	for _, w := range workers {
		all[w.Rank] = w.spans()
		t.Ranks = append(t.Ranks, Rank{w.Rank, rowsOf(w.Rank, all[w.Rank], origin)})
	}
	reached := origin // by the last rank
	for p := Guard; p <= End; p++ {
		if row, end, ok := longest(all, p, false, origin); ok {
			row.OnPath = milliseconds(max(end-reached, 0))
			reached = max(reached, end)
			t.Path = append(t.Path, row)
			if allLeft(workers) {
				t.mark(p, milliseconds(reached-origin))
			}
		}
		if row, _, ok := longest(all, p, true, origin); ok {
			t.Path = append(t.Path, row)
		}
	}
	t.Total = milliseconds(reached - origin)
	return t
}

// untilForked ends the launcher's Fork with the start of the last worker: from then
// on the launcher only waits.
func untilForked(launcher []Span, workers []Worker) []Span {
	all := slices.Clone(launcher)
	for i, s := range all {
		if s.Phase != Fork || len(workers) == 0 {
			continue
		}
		all[i].End = s.Begin
		for _, w := range workers {
			all[i].End = max(all[i].End, w.Started)
		}
	}
	return all
}

// allLeft reports whether all workers finished their work.
func allLeft(workers []Worker) bool {
	return !slices.ContainsFunc(workers, func(w Worker) bool {
		return !slices.ContainsFunc(w.Spans, func(s Span) bool { return s.Phase == Leave })
	})
}

// mark notes when the phases of FirstVerified and FirstResult were over.
func (t *Timing) mark(p Phase, reached float64) {
	switch p {
	case Verify:
		t.FirstVerified = reached
	case Measure:
		t.FirstResult = reached
	}
}

// longest finds the rank that took longest for a phase, and when the last rank finished it.
func longest(all map[int][]Span, p Phase, concurrent bool, origin time.Duration) (row Row, end time.Duration, ok bool) {
	for _, rank := range slices.Sorted(maps.Keys(all)) {
		for _, s := range all[rank] {
			if s.Phase != p || s.Concurrent != concurrent {
				continue
			}
			if r := rowOf(rank, s, origin); !ok || r.Time > row.Time {
				row = r
			}
			end, ok = max(end, s.End), true
		}
	}
	return row, end, ok
}

func rowsOf(rank int, spans []Span, origin time.Duration) []Row {
	rows := make([]Row, len(spans))
	for i, s := range spans {
		rows[i] = rowOf(rank, s, origin)
	}
	return rows
}

func rowOf(rank int, s Span, origin time.Duration) Row {
	return Row{
		Phase: s.Phase, Rank: rank, Begin: milliseconds(s.Begin - origin), Time: milliseconds(s.End - s.Begin),
		Concurrent: s.Concurrent,
	}
}

// milliseconds are rounded to whole microseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
