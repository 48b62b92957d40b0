package agent

import (
	"errors"
	"slices"
	"sync"
	"time"

	"gpurun/worker/process/report"
	"gpurun/worker/process/spawn"
)

// An event is what the group's loop is told: an exit, a failure, or an error.
type event struct {
	worker  *worker // nil: the event is about no single worker
	time    time.Time
	exit    *spawn.ExitStatus
	failure *report.Failure
	leaving bool  // with failure: the worker reported it itself
	err     error // the agent could not do its own work
}

// events carry events to the group's loop, and keep the errors of the agent itself.
type events struct {
	channel chan event
	closed  chan struct{} // closed when events are no longer received

	mu   sync.Mutex
	errs []error
}

func newEvents() *events {
	return &events{channel: make(chan event), closed: make(chan struct{})}
}

// send hands an event to the loop. When the loop has ended, only errors are kept.
func (e *events) send(ev event) {
	if ev.time.IsZero() {
		ev.time = time.Now()
	}
	select {
	case e.channel <- ev:
	case <-e.closed:
		if ev.err != nil {
			e.keep(ev.err)
		}
	}
}

// next receives events.
func (e *events) next() <-chan event { return e.channel }

// close ends the receiving.
func (e *events) close() { close(e.closed) }

// keep notes that the agent could not do its own work. What several workers' output failed for is noted once.
func (e *events) keep(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.errs, func(kept error) bool { return kept.Error() == err.Error() }) {
		return
	}
	e.errs = append(e.errs, err)
}

// err returns the noted errors.
func (e *events) err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.errs...)
}
