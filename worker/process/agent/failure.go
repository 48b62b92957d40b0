package agent

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/report"
)

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
