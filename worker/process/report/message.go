// Package report carries messages from a worker to its agent.
//
// The agent gives every worker the write end of a pipe and its number in
// GPURUN_REPORT_FD. The worker writes one JSON object a line, never more than
// [MaxLine] bytes, and closes the pipe by exiting:
//
//	kind      payload    meaning
//	--------  ---------  -------------------------------------------------
//	log       log        a log entry, see [Writer.Core] and [Relog]
//	phase     phase      the step that the worker begins
//	progress  progress   how much of the current phase is done
//	result    result     a result, opaque to the agent
//	state     state      in which step the worker is; the answer to SIGUSR1
//	failure   failure    why the worker is about to exit with an error
//
// The agent sends nothing back. Every message but a state shows that the worker is not hung.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
)

// FDVariable names the environment variable with the pipe's descriptor number.
const FDVariable = "GPURUN_REPORT_FD"

// MaxLine is the longest message in bytes, its newline included.
const MaxLine = 1 << 20

// Kind tells which payload a message carries.
type Kind string

// The kinds of message.
const (
	KindLog      Kind = "log"
	KindPhase    Kind = "phase"
	KindProgress Kind = "progress"
	KindResult   Kind = "result"
	KindState    Kind = "state"
	KindFailure  Kind = "failure"
)

// Message is one line of the pipe. Only the payload of its kind is set.
type Message struct {
	Kind     Kind            `json:"kind"`
	Log      json.RawMessage `json:"log,omitempty"`
	Phase    string          `json:"phase,omitempty"`
	Progress *Progress       `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	State    *State          `json:"state,omitempty"`
	Failure  *Failure        `json:"failure,omitempty"`
}

// State is what a worker does at one moment.
type State struct {
	Step    string  `json:"step,omitempty"`    // such as "waiting for all ranks at barrier ..."; empty: it computes
	Seconds float64 `json:"seconds,omitempty"` // for which it has been in the step
	Kernel  string  `json:"kernel,omitempty"`  // where its kernels are, if its device tells
}

// Progress says how much of the current phase is done.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Class is the kind of a failure. It decides gpurun's exit code.
type Class string

// The classes of failure.
const (
	WrongData   Class = "wrong-data"  // a result was wrong
	Environment Class = "environment" // the machine lacks something
	Timeout     Class = "timeout"     // a wait took too long
	Rendezvous  Class = "rendezvous"  // the ranks did not find each other, or lost each other
	Usage       Class = "usage"       // the user's settings cannot be fulfilled
	Internal    Class = "internal"    // a defect of gpurun
)

// Failure is the reason, in the worker's own words, why the worker exits.
type Failure struct {
	Class   Class  `json:"class"`
	Phase   string `json:"phase,omitempty"` // what the worker was doing
	Message string `json:"message"`
	// Peer is the rank that the failure points to, nil when none does.
	Peer *int `json:"peer,omitempty"`
	// Consequence marks a failure that only follows from another rank's, such
	// as a peer that left. The agent names the other failure, if there is one.
	Consequence bool `json:"consequence,omitempty"`
}

// Error reads "verifying: 3 elements are wrong".
func (f *Failure) Error() string {
	if f.Phase == "" {
		return f.Message
	}
	return f.Phase + ": " + f.Message
}

// check reports whether the message has the payload of its kind.
func (m Message) check() error {
	present := false
	switch m.Kind {
	case KindLog:
		present = m.Log != nil
	case KindPhase:
		present = m.Phase != ""
	case KindProgress:
		present = m.Progress != nil
	case KindResult:
		present = m.Result != nil
	case KindState:
		present = m.State != nil
	case KindFailure:
		if m.Failure != nil {
			return m.Failure.check()
		}
	default:
		return fmt.Errorf("unknown kind %q", m.Kind)
	}
	if !present {
		return fmt.Errorf("kind %q without its payload", m.Kind)
	}
	return nil
}

func (f *Failure) check() error {
	switch f.Class {
	case WrongData, Environment, Timeout, Rendezvous, Usage, Internal:
	default:
		return fmt.Errorf("unknown class of failure %q", f.Class)
	}
	if f.Message == "" {
		return errors.New("failure without a message")
	}
	return nil
}
