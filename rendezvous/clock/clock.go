// Package clock gives a state machine without I/O its time, and lets its deadlines expire.
package clock

import (
	"context"
	"time"
)

// Clock is a state machine's time, which begins when the clock is made.
type Clock struct {
	start time.Time
	wake  chan struct{}
}

// New starts a clock.
func New() *Clock {
	return &Clock{start: time.Now(), wake: make(chan struct{}, 1)}
}

// Now is the state machine's time.
func (c *Clock) Now() time.Duration { return time.Since(c.start) }

// Changed says that the state machine has had an input, so that its next deadline may be another. It
// never waits.
func (c *Clock) Changed() {
	select {
	case c.wake <- struct{}{}:
	default: // Run has yet to hear of the input before, and will ask then
	}
}

// Run calls expire at every deadline, until ctx ends. next says when the next deadline is, if
// there is one; expire must move it, or is called again at once.
func (c *Clock) Run(ctx context.Context, next func() (at time.Duration, ok bool), expire func()) {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		wait := never
		if at, ok := next(); ok {
			wait = at - c.Now()
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
			expire()
		}
	}
}

// never is the longest sleep of Run while there is no deadline.
const never = time.Hour
