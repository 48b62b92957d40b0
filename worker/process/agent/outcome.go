package agent

import (
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
	// reason: the cause of the context's end, or guard.ErrGone.
	Cause error
}

// WorkerState is how one worker ended: by a signal, or else with a code.
type WorkerState struct {
	Rank, LocalRank, PID int
	ExitCode             int
	Signal               syscall.Signal
	Phase                string // the last that it reported
	Stuck                bool   // it did not die of SIGKILL
	Followed             bool   // it ended because another failed: the agent told it to, or it noticed the failure
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
