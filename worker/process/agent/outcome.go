package agent

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// Outcome is how a run ended.
type Outcome struct {
	// First is the failure to name: the first by time among those that do not
	// merely follow from another. It is nil when no worker failed by itself.
	First *Failure
	// Failures are all workers that failed by themselves, in the order of time.
	Failures []*Failure
	// Workers is how each worker that was started ended, by local rank.
	Workers []WorkerState
	// Signal is the signal to gpurun that ended the run, or zero.
	Signal syscall.Signal
	// Cause is why the run ended early, when no worker's failure was the
	// reason: the cause of the context's end, or ErrGuardGone.
	Cause error
}

// WorkerState is how one worker ended: by a signal, or else with a code.
type WorkerState struct {
	Rank, LocalRank, PID int
	ExitCode             int
	Signal               syscall.Signal
	Phase                string // the last that it reported
	Stuck                bool   // it did not die of SIGKILL
	Followed             bool   // it ended because another failed: the agent told it to, or the failure was felt
	// Started is just before the fork; Exited is zero for one that is stuck.
	Started, Exited time.Time
}

// ExitCode returns the code of the worker that failed first, or 128+n on
// signal n, as a shell reports it, or 1 when it could not end by itself.
func (o *Outcome) ExitCode() int {
	switch {
	case o.First != nil && o.First.Ended:
		return 1
	case o.First != nil && o.First.Signal != 0:
		return 128 + int(o.First.Signal)
	case o.First != nil && o.First.ExitCode != 0:
		return o.First.ExitCode
	case o.Signal != 0:
		return 128 + int(o.Signal)
	case o.First != nil || o.Cause != nil:
		return 1
	}
	return 0
}

// outcome sums up a run that is over.
func (g *group) outcome() *Outcome {
	o := &Outcome{Cause: g.stop.cause}
	var signalled Signalled
	if errors.As(g.stop.cause, &signalled) {
		o.Signal = signalled.Signal
	}
	for _, w := range g.workers {
		state, failed := w.ended(), g.failedByItself(w)
		state.Followed = !g.finished(w) && (!failed || w.consequence())
		o.Workers = append(o.Workers, state)
		if failed {
			o.Failures = append(o.Failures, g.describe(w))
		}
	}
	slices.SortStableFunc(o.Failures, func(a, b *Failure) int { return a.Time.Compare(b.Time) })
	if w := g.first(); w != nil {
		o.First = g.describe(w)
	}
	return o
}

// finished reports whether a worker ended well before any was told to end.
func (g *group) finished(w *worker) bool {
	return w.exit != nil && w.failedAt.IsZero() && (g.stop.begun.IsZero() || w.exitedAt.Before(g.stop.begun))
}

// ended returns how a worker ended.
func (w *worker) ended() WorkerState {
	phase, _ := w.state()
	state := WorkerState{Rank: w.rank, LocalRank: w.localRank, PID: w.pid, Phase: phase, Stuck: w.exit == nil, Started: w.startedAt, Exited: w.exitedAt}
	if w.exit != nil {
		state.ExitCode, state.Signal = w.exit.code, w.exit.signal
	}
	return state
}

// first returns the worker whose failure is to be named, or nil.
func (g *group) first() *worker {
	var first *worker
	for _, w := range g.workers {
		switch {
		case !g.failedByItself(w):
		case first == nil, w.consequence() == first.consequence() && w.failedAt.Before(first.failedAt), first.consequence() && !w.consequence():
			first = w
		}
	}
	return first
}

// firstSoFar is the failure to name while workers are still there. One that has
// recorded a failure, which others may merely have followed, is about to end or to
// be ended.
func (g *group) firstSoFar() *Failure {
	first := g.first()
	var recorded *worker
	earliest := first.failedAt
	for _, w := range g.workers {
		if at, ok := w.recordedAt(); ok && w.exit == nil && w.failedAt.IsZero() && at.Before(earliest) {
			recorded, earliest = w, at
		}
	}
	if recorded == nil {
		return g.describe(first)
	}
	f := g.describe(recorded)
	f.Time, f.Ended = earliest, true
	return f
}

// consequence reports whether the worker's failure follows from another's.
func (w *worker) consequence() bool {
	reported := w.reported()
	return reported != nil && reported.Consequence
}

// failedByItself reports whether a worker failed, and not because the agent
// told it to end.
func (g *group) failedByItself(w *worker) bool {
	switch {
	case w.failedAt.IsZero():
		return false
	case g.stop.begun.IsZero(), w.failedAt.Before(g.stop.begun):
		return true
	case g.stop.cause != nil:
		return false
	case w.reported() != nil:
		return true
	}
	return w.exit.signal != 0 && w.exit.signal != g.stop.signal && w.exit.signal != syscall.SIGKILL
}
