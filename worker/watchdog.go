package worker

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// watchdog looks after calls of foreign code that may wait for the peers, where
// nothing can interrupt them. When one takes too long, or a peer is gone meanwhile,
// it says so and ends the process. One is cheap enough for every call on a stream.
type watchdog struct {
	limit time.Duration
	abort func(error)
	ctx   context.Context // ends when a peer is gone

	mu    sync.Mutex
	what  string // is being done; empty: nothing
	since time.Time
}

// begin and end surround a call. Where a peer is gone already, nobody would come, and
// begin refuses a call that is not to clean up: what it has noted by then is aborted
// should the peer go only now.
func (w *watchdog) begin(what string, cleaning bool) error {
	w.note(what)
	if w.ctx.Err() == nil || cleaning {
		return nil
	}
	w.end()
	return context.Cause(w.ctx)
}

func (w *watchdog) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what, w.since = what, time.Now()
}

func (w *watchdog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what = ""
}

// run looks at the call until done is closed.
func (w *watchdog) run(done <-chan struct{}) {
	tick := time.NewTicker(min(w.limit/4, time.Second))
	defer tick.Stop()
	gone := w.ctx.Done()
	for {
		select {
		case <-done:
			return
		case <-gone:
			gone = nil // what begins from now on cleans up, and has its time
			if w.calling() != "" {
				w.abort(context.Cause(w.ctx))
			}
		case <-tick.C:
			if what := w.overdue(); what != "" {
				w.abort(&StuckError{what, w.limit})
			}
		}
	}
}

// calling is the call that is being made, or empty.
func (w *watchdog) calling() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.what
}

// overdue is the call that is being made for too long, or empty.
func (w *watchdog) overdue() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) < w.limit {
		return ""
	}
	return w.what
}

// StuckError is a call of a library of others, or its work on a stream, that does
// not come to an end.
type StuckError struct {
	What  string
	After time.Duration
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s did not end within %v: a rank did not come, or the library hangs (its own debug output, "+
		"as by NCCL_DEBUG=INFO or NVSHMEM_DEBUG=INFO, may tell; --timeout allows more time)", e.What, e.After)
}

// startWatchdog has one run until the rank closes.
func (r *rank) startWatchdog(ctx context.Context) {
	r.watchdog = &watchdog{ctx: ctx, limit: r.Job.Timeout + waitSlack, abort: func(err error) {
		r.Abort(cmp.Or(r.failure.get(), err)) // a call that cleans up must not hide why
	}}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.watchdog.run(done)
	}()
	r.onClose(func() error {
		close(done)
		<-ended
		return nil
	})
}

// supervised makes a call of foreign code that is a phase of its own.
func (r *rank) supervised(what string, call func() error) error {
	before := r.doing
	if err := r.phase("%s", what); err != nil {
		return err
	}
	if err := r.watchdog.begin(what, r.failure.get() != nil); err != nil {
		return err
	}
	err := call()
	r.watchdog.end()
	if err != nil {
		return err
	}
	return r.phase("%s", before)
}
