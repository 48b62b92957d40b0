package rounds

import (
	"context"
	"unicode/utf8"
)

// EndKind says in which way a node's part in a job ended.
type EndKind int

// The ways to end.
const (
	Finished EndKind = iota + 1 // all nodes of the last round have succeeded
	Left                        // the node wanted to
	Failed                      // no restarts are left, or none is possible
	Closed                      // the job was over before the node joined, or is about to be
	Refused                     // the node and the job do not fit
	TimedOut                    // others did not come
	Moved                       // the agent that ran the state machine has ended; another may
)

// Failure is how a node's workers failed.
type Failure struct {
	Reason   string
	ExitCode int // of the worker that failed first
}

// End says how and why a node's part in a job ended.
type End struct {
	Kind    EndKind
	Reason  string
	Failure *Failure // the first one that was fatal to the job, where workers failed
}

func (e *End) Error() string { return e.Reason }

// Unwrap makes errors.Is(err, context.DeadlineExceeded) work.
func (e *End) Unwrap() error {
	if e.Kind == TimedOut {
		return context.DeadlineExceeded
	}
	return nil
}

// clip cuts a text that comes from outside, at a character's edge.
func clip(s string) string {
	limit := MaxReasonBytes
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}
