package agent

import (
	"sync"
	"time"

	"gpurun/worker/process/report"
)

// activity is what one worker has reported. The goroutine that reads the reports and the
// group's loop share it.
type activity struct {
	mu       sync.Mutex
	phase    string
	heard    time.Time       // when the last report came, or when the worker started
	reported *report.Failure // the first failure that it reported
}

// begin notes the worker's start.
func (a *activity) begin(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = now
}

// note takes down what a message says about the worker.
func (a *activity) note(m report.Message, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.Kind == report.KindState { // a worker that hangs answers, too
		return
	}
	a.heard = now
	switch {
	case m.Kind == report.KindPhase:
		a.phase = m.Phase
	case m.Kind == report.KindFailure && a.reported == nil:
		a.reported = m.Failure
	}
}

// lastReport returns the worker's phase and when its last report came.
func (a *activity) lastReport() (phase string, heard time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase, a.heard
}

// heardSince returns when the last report came, or when the agent was continued, if that is later.
func (a *activity) heardSince(resumed time.Time) time.Time {
	if _, heard := a.lastReport(); heard.After(resumed) {
		return heard
	}
	return resumed
}

// reportedFailure returns the first failure that the worker reported, or nil.
func (a *activity) reportedFailure() *report.Failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reported
}
