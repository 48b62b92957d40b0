package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/report"
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

// Failure is one worker's failure, with what is known about it.
type Failure struct {
	Rank, LocalRank, PID int
	Time                 time.Time
	// ExitCode and Signal tell how it ended in the end. Where Report is set,
	// the agent may have ended it.
	ExitCode int
	Signal   syscall.Signal
	// Phase is what the worker was doing, as far as it reported.
	Phase string
	// Report is the reason in the worker's own words, or the agent's when it
	// hung or sent garbage. It is nil for a worker that just ended.
	Report *report.Failure
	// PeerPhase is what the rank that Report points to was doing, when that is
	// a local one and reported.
	PeerPhase string
	// ErrorFile is where the worker recorded its reason; empty if it did not.
	ErrorFile string
	// Ended says that the agent ended it, because of another failure, after it had
	// recorded its own: ExitCode and Signal are not what it would have ended with.
	Ended bool
	// LastStderr is the worker's last lines of standard error.
	LastStderr []string
	// OOMKilled says that the kernel killed for lack of memory during the run,
	// and that this worker was killed that way.
	OOMKilled bool
}

// Error says in a sentence who failed, how, and while doing what.
func (f *Failure) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "rank %d (pid %d) ", f.Rank, f.PID)
	switch {
	case f.Report != nil:
		s.WriteString("failed")
	case f.Ended:
		fmt.Fprintf(&s, "recorded a failure in %s", f.ErrorFile)
	case f.OOMKilled:
		fmt.Fprintf(&s, "was killed by %s because memory ran out", SignalName(f.Signal))
	case f.Signal != 0:
		fmt.Fprintf(&s, "was killed by %s", SignalName(f.Signal))
	default:
		fmt.Fprintf(&s, "exited with code %d", f.ExitCode)
	}
	if f.Phase != "" {
		fmt.Fprintf(&s, " while %s", f.Phase)
	}
	if f.Report != nil {
		fmt.Fprintf(&s, ": %s", withoutPhase(f.Report.Message, f.Phase))
	}
	if f.PeerPhase != "" {
		fmt.Fprintf(&s, " (rank %d was last seen %s)", *f.Report.Peer, f.PeerPhase)
	}
	return s.String()
}

// withoutPhase is message without a beginning that repeats the phase: an error
// usually says, too, what was being done.
func withoutPhase(message, phase string) string {
	if phase == "" {
		return message
	}
	for {
		rest, repeated := strings.CutPrefix(message, phase+": ")
		if !repeated {
			return strings.TrimPrefix(message, phase+" ")
		}
		message = rest
	}
}

// Unwrap returns the worker's report, if there is one.
func (f *Failure) Unwrap() error {
	if f.Report == nil {
		return nil
	}
	return f.Report
}

// SignalName returns a name such as "SIGKILL", or "signal 35".
func SignalName(signal syscall.Signal) string {
	if name := unix.SignalName(signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(signal))
}

// outcome sums up a run that is over.
func (g *group) outcome() *Outcome {
	o := &Outcome{Cause: g.stop.cause}
	var signalled Signalled
	if errors.As(g.stop.cause, &signalled) {
		o.Signal = signalled.Signal
	}
	for _, w := range g.workers {
		o.Workers = append(o.Workers, w.ended())
		if g.failedByItself(w) {
			o.Failures = append(o.Failures, g.describe(w))
		}
	}
	slices.SortStableFunc(o.Failures, func(a, b *Failure) int { return a.Time.Compare(b.Time) })
	if w := g.first(); w != nil {
		o.First = g.describe(w)
	}
	return o
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

// describe gathers what is known about a worker's failure.
func (g *group) describe(w *worker) *Failure {
	end := w.ended()
	f := &Failure{
		Rank: w.rank, LocalRank: w.localRank, PID: w.pid, Time: w.failedAt,
		ExitCode: end.ExitCode, Signal: end.Signal, Phase: end.Phase,
		Report: w.reported(), LastStderr: w.lastStderr(),
	}
	if _, ok := w.recordedAt(); ok {
		f.ErrorFile = w.errorFile
		f.Ended = g.endedByAgent(w)
	}
	if f.Report == nil {
		f.OOMKilled = f.Signal == syscall.SIGKILL && g.oomKills.grown()
		return f
	}
	if f.Report.Phase != "" {
		f.Phase = f.Report.Phase
	}
	if f.Report.Peer != nil {
		for _, peer := range g.workers {
			if peer.rank == *f.Report.Peer {
				f.PeerPhase, _ = peer.state()
			}
		}
	}
	return f
}

// endedByAgent reports whether a worker died of a signal that the agent sent.
func (g *group) endedByAgent(w *worker) bool {
	return w.exit != nil && w.exit.signal != 0 && !g.stop.begun.IsZero() && w.exitedAt.After(g.stop.begun) &&
		(w.exit.signal == g.stop.signal || w.exit.signal == syscall.SIGKILL)
}

// lastStderr returns the worker's last lines of standard error.
func (w *worker) lastStderr() []string {
	if w.toStderr.direct() {
		return lastLines(w.toStderr.File.Name())
	}
	return w.tail.last()
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
