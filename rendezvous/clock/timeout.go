package clock

import (
	"context"
	"errors"
	"time"
)

// timeout is a context that ends when a clock has reached a time.
type timeout struct {
	context.Context // canceled then, with the cause context.DeadlineExceeded
	clock           *Clock
	end             time.Duration
	done            chan struct{} // not that of Context: contexts made of this one would take its Err
}

// WithTimeout is context.WithTimeout by the time of the clock.
func (c *Clock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(parent)
	t := timeout{inner, c, c.Now() + d, make(chan struct{})}
	go func() {
		defer close(t.done)
		if c.Wait(t.end, inner.Done()) {
			cancel(context.DeadlineExceeded)
		}
	}()
	return t, func() { cancel(context.Canceled) }
}

// Deadline is when the context ends, unless the process is stopped before.
func (t timeout) Deadline() (time.Time, bool) {
	at := time.Now().Add(t.end - t.clock.Now())
	if parents, ok := t.Context.Deadline(); ok && parents.Before(at) {
		return parents, true
	}
	return at, true
}

func (t timeout) Done() <-chan struct{} { return t.done }

func (t timeout) Err() error {
	select {
	case <-t.done:
	default:
		return nil
	}
	if cause := context.Cause(t.Context); errors.Is(cause, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return t.Context.Err()
}
