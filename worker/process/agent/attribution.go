package agent

import (
	"errors"
	"slices"
	"syscall"

	"gpurun/worker/process/oomkill"
	"gpurun/worker/process/signals"
)

// attribution finds which workers failed by themselves, and which failed first.
type attribution struct {
	workers  workers
	ending   *ending
	oomKills oomkill.Counter
}

// outcome sums up a run that is over.
func (a attribution) outcome() *Outcome {
	o := &Outcome{Cause: a.ending.interruption()}
	var received signals.Received
	if errors.As(o.Cause, &received) {
		o.Signal = received.Signal
	}
	for _, w := range a.workers {
		state, failed := w.state(), a.failedByItself(w)
		state.Followed = !a.finished(w) && (!failed || w.consequence())
		o.Workers = append(o.Workers, state)
		if failed {
			o.Failures = append(o.Failures, a.describe(w))
		}
	}
	slices.SortStableFunc(o.Failures, func(a, b *Failure) int { return a.Time.Compare(b.Time) })
	if w := a.first(); w != nil {
		o.First = a.describe(w)
	}
	return o
}

// finished reports whether a worker ended without a failure before any was told to end.
func (a attribution) finished(w *worker) bool {
	_, failed := w.failed()
	return !w.running() && !failed && a.ending.precedes(w.state().Exited)
}

// first returns the worker whose failure is to be named, or nil.
func (a attribution) first() *worker {
	var first *worker
	for _, w := range a.workers {
		if a.failedByItself(w) && (first == nil || w.rather(first)) {
			first = w
		}
	}
	return first
}

// firstSoFar is the failure to name while workers still run. A running worker may have
// recorded an earlier failure, from which the others follow, and be about to end.
func (a attribution) firstSoFar() *Failure {
	first := a.first()
	var recorded *worker
	earliest, _ := first.failed()
	for _, w := range a.workers {
		_, failed := w.failed()
		if at, ok := w.recordedAt(); ok && w.running() && !failed && at.Before(earliest) {
			recorded, earliest = w, at
		}
	}
	if recorded == nil {
		return a.describe(first)
	}
	f := a.describe(recorded)
	f.Time, f.Ended = earliest, true
	return f
}

// failedByItself reports whether a worker failed, and not because the agent
// told it to end.
func (a attribution) failedByItself(w *worker) bool {
	at, failed := w.failed()
	switch {
	case !failed:
		return false
	case a.ending.precedes(at):
		return true
	case a.ending.interrupted():
		return false
	case w.reason() != nil:
		return true
	}
	signal := w.state().Signal
	return signal != 0 && !a.ending.sent(signal)
}

// describe gathers what is known about a worker's failure.
func (a attribution) describe(w *worker) *Failure {
	f := w.describe()
	f.Ended = f.ErrorFile != "" && a.endedByAgent(w)
	if f.Report == nil {
		f.OOMKilled = f.Signal == syscall.SIGKILL && a.oomKills.Increased()
		f.OOMOfMachine = f.OOMKilled && a.oomKills.OfMachine()
		return f
	}
	if f.Report.Peer != nil {
		if peer := a.workers.withRank(*f.Report.Peer); peer != nil {
			f.PeerPhase, _ = peer.lastReport()
		}
	}
	return f
}

// endedByAgent reports whether a worker died of a signal that the agent sent.
func (a attribution) endedByAgent(w *worker) bool {
	end := w.state()
	return end.Signal != 0 && a.ending.follows(end.Exited) && a.ending.sent(end.Signal)
}

// interrupted lists the groups that were at work when they were told to end.
// Processes that are left in them, such as the program of a shell that the signal ended,
// may be saving their state.
func (a attribution) interrupted() (groups []int) {
	for _, w := range a.workers {
		at, failed := w.failed()
		if a.ending.follows(w.state().Exited) && !(failed && a.ending.precedes(at)) {
			groups = append(groups, w.PID)
		}
	}
	return groups
}
