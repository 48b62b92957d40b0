// Package clock gives a state machine without I/O its time, and lets its deadlines expire.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock is a state machine's time, which begins when the clock is made. Time during which the process was stopped, as
// by SIGSTOP, does not count while Run runs: deadlines of peers that were stopped along with it do not expire.
type Clock struct {
	start time.Time
	wake  chan struct{}

	mu      sync.Mutex
	running bool
	read    time.Duration // when the clock was last read, since start
	stopped time.Duration // the time that does not count
}

// Run reads the clock once per readInterval. Between two reads at most mostBetween counts.
const (
	readInterval = time.Second
	mostBetween  = 2 * readInterval
)

// New starts a clock.
func New() *Clock {
	return &Clock{start: time.Now(), wake: make(chan struct{}, 1)}
}

// Now is the state machine's time.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	if c.running {
		c.stopped += max(0, now-c.read-mostBetween)
	}
	c.read = now
	return now - c.stopped
}

// run says whether Run runs.
func (c *Clock) run(running bool) {
	c.Now() // what was before counts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = running
}

// Wait returns true when the clock has reached a time, and false when done is closed before.
func (c *Clock) Wait(until time.Duration, done <-chan struct{}) bool {
	for {
		left := until - c.Now()
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			return false
		}
	}
}

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
	c.run(true)
	defer c.run(false)
	timer := time.NewTimer(readInterval)
	defer timer.Stop()
	for {
		now, due := c.Now(), false
		wait := readInterval
		if at, ok := next(); ok && at-now <= readInterval {
			wait, due = at-now, true
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
			if due {
				expire()
			}
		}
	}
}
