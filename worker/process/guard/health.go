package guard

import (
	"fmt"
	"syscall"
	"time"

	"gpurun/worker/process/signals"
)

// checkInterval is the time between two checks of the agent.
const checkInterval = time.Second

// How many checks in a row the agent may fail. Checks are counted, not time: a guard that was
// itself stopped together with its job has made none.
const (
	stoppedChecks    = 4 // the agent is stopped, and no signal has asked for the end
	unansweredChecks = 5 // the agent has not answered a signal that asks for the end
)

// NotAnsweringError is why the guard ended the job of an agent that was stopped or that did not answer.
type NotAnsweringError struct {
	PID    int
	Signal syscall.Signal // that the agent did not answer; 0: the agent was stopped, and nobody had asked for the end
}

func (e *NotAnsweringError) Error() string {
	if e.Signal == 0 {
		return fmt.Sprintf("the agent (pid %d) was stopped for %v, by SIGSTOP or a terminal: the guard ended the job; "+
			"to pause a job, send SIGTSTP to gpurun", e.PID, stoppedChecks*checkInterval)
	}
	return fmt.Sprintf("the agent (pid %d) did not answer %s for %v: the guard killed it and its workers", e.PID,
		signals.Name(e.Signal), unansweredChecks*checkInterval)
}

// health decides what to do with an agent that is stopped, or that does not answer.
type health struct {
	pid        int
	asked      syscall.Signal // the first signal that asked the agent to end; 0: none
	answered   bool           // the agent has received it
	failed     int            // checks in a row
	conclusion *NotAnsweringError
}

// remedy is what the guard does after a check.
type remedy int

const (
	leave remedy = iota
	end          // ask the agent to end, and continue it: its workers then have their grace
	kill
)

// ask notes a signal that asks the agent to end.
func (h *health) ask(s syscall.Signal) {
	if h.asked == 0 {
		h.asked, h.failed = s, 0
	}
}

// check judges the agent after one more checkInterval.
func (h *health) check(stopped bool) remedy {
	failing, most := stopped, stoppedChecks
	if h.asked != 0 {
		failing, most = stopped || !h.answered, unansweredChecks
	}
	if !failing {
		h.failed = 0
		return leave
	}
	if h.failed++; h.failed < most {
		return leave
	}
	if h.asked == 0 {
		h.conclusion = &NotAnsweringError{PID: h.pid}
		h.ask(syscall.SIGTERM)
		return end
	}
	h.failed = 0
	if h.conclusion == nil {
		h.conclusion = &NotAnsweringError{PID: h.pid, Signal: h.asked}
	}
	return kill
}
