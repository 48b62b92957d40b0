package agent

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
)

// Failure is one worker's failure, with what is known about it.
type Failure struct {
	Rank, LocalRank, PID int
	Time                 time.Time
	// ExitCode and Signal tell how the worker ended. Where Report is set,
	// the agent may have ended it.
	ExitCode int
	Signal   syscall.Signal
	// Phase is what the worker was doing, as far as it reported.
	Phase string
	// Report is the reason in the worker's own words, or the agent's reason when the worker
	// hung or sent a report that cannot be read. It is nil for a worker that just ended.
	Report *report.Failure
	// PeerPhase is what the rank Report.Peer was doing, where that rank is local and
	// reported it.
	PeerPhase string
	// ErrorFile is where the worker recorded its reason; empty if it did not.
	ErrorFile string
	// Ended says that the agent ended the worker, because of another failure, after the
	// worker had recorded its own: ExitCode and Signal are then the agent's doing.
	Ended bool
	// LastStderr is the worker's last lines of standard error.
	LastStderr []string
	// FullDisk is a file of the worker's output, on a file system without room; empty if there is none.
	FullDisk string
	// OOMKilled says that this worker was killed by SIGKILL, and that the kernel killed
	// processes for lack of memory during the run.
	OOMKilled bool
	// OOMOfMachine says that the kernel counts such kills for the whole machine: this one may have been another job's.
	OOMOfMachine bool
}

// Error says in a sentence who failed, how, and while doing what.
func (f *Failure) Error() string {
	var s strings.Builder
	s.WriteString(f.culprit())
	fmt.Fprintf(&s, "rank %d (pid %d) ", f.Rank, f.PID)
	switch {
	case f.Report != nil:
		s.WriteString("failed")
	case f.Ended:
		fmt.Fprintf(&s, "recorded a failure in %s", f.ErrorFile)
	case f.OOMOfMachine:
		fmt.Fprintf(&s, "was killed by %s, probably because memory ran out", signals.Name(f.Signal))
	case f.OOMKilled:
		fmt.Fprintf(&s, "was killed by %s because memory ran out", signals.Name(f.Signal))
	case f.Signal != 0:
		fmt.Fprintf(&s, "was killed by %s", signals.Name(f.Signal))
	default:
		fmt.Fprintf(&s, "exited with code %d", f.ExitCode)
	}
	if f.Phase != "" {
		fmt.Fprintf(&s, " while %s", f.Phase)
	}
	if f.Report != nil {
		fmt.Fprintf(&s, ": %s", withoutPhase(f.Report.Message, f.Phase))
	}
	return s.String()
}

// waitedInVain reports whether a failure is that another rank did not arrive at a step or at the rendezvous.
func waitedInVain(r *report.Failure) bool {
	return r.Class == report.Timeout || r.Class == report.Rendezvous && !r.Consequence
}

// culprit begins the sentence of a worker that waited in vain with the rank that it waited for; else it is empty.
func (f *Failure) culprit() string {
	if f.Report == nil || f.Report.Peer == nil || *f.Report.Peer == f.Rank || !waitedInVain(f.Report) {
		return ""
	}
	text := fmt.Sprintf("rank %d did not arrive in time", *f.Report.Peer)
	if f.PeerPhase != "" {
		text += ", last seen " + f.PeerPhase
	}
	return text + ": "
}

// withoutPhase is message without a beginning that repeats the phase: most errors
// begin with what was being done.
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
