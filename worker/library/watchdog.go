package library

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// watchdog supervises calls of foreign code that may wait for the peers and that nothing
// can interrupt. When a call takes too long, or a peer is gone meanwhile, the watchdog
// reports that and ends the process. It is cheap enough for every call on a stream.
type watchdog struct {
	limit time.Duration
	abort func(error)
	ctx   context.Context // ends when a peer is gone
	stop  func()          // ends run, and waits for that

	mu    sync.Mutex
	call  string // being made; empty: none
	since time.Time
}

// begin and end surround a call. Once a peer is gone, begin refuses a call unless it cleans
// up. It notes the call first: run aborts the call if the peer goes only after the check.
func (w *watchdog) begin(call string, cleaning bool) error {
	w.note(call)
	if w.ctx.Err() == nil || cleaning {
		return nil
	}
	w.end()
	return context.Cause(w.ctx)
}

func (w *watchdog) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.since = call, time.Now()
}

func (w *watchdog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call = ""
}

// run checks the call from time to time until done is closed.
func (w *watchdog) run(done <-chan struct{}) {
	tick := time.NewTicker(min(w.limit/4, time.Second))
	defer tick.Stop()
	gone := w.ctx.Done()
	for {
		select {
		case <-done:
			return
		case <-gone:
			gone = nil // a call that begins from now on cleans up, within the limit
			if w.current() != "" {
				w.abort(context.Cause(w.ctx))
			}
		case <-tick.C:
			if call := w.overdue(); call != "" {
				w.abort(&StuckError{call, w.limit})
			}
		}
	}
}

// current is the call that is being made, or empty.
func (w *watchdog) current() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.call
}

// overdue is the current call if it exceeds the limit, or empty.
func (w *watchdog) overdue() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) < w.limit {
		return ""
	}
	return w.call
}

// StuckError is a call of an external library, or its work on a stream, that did not end
// in time.
type StuckError struct {
	What  string
	After time.Duration
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s did not end within %v: a rank did not make the call, or the library hangs "+
		"(its own debug output, as by NCCL_DEBUG=INFO or NVSHMEM_DEBUG=INFO, may tell; --timeout allows more time)",
		e.What, e.After)
}

// startWatchdog has a watchdog run until Close.
func (s *Set) startWatchdog(ctx context.Context, limit time.Duration) {
	done, ended := make(chan struct{}), make(chan struct{})
	s.watchdog = &watchdog{
		ctx: ctx, limit: limit,
		abort: func(err error) { s.options.Abort(cmp.Or(s.failure.get(), err)) },
		stop: func() {
			close(done)
			<-ended
		},
	}
	go func() {
		defer close(ended)
		s.watchdog.run(done)
	}()
}

// Call makes a call that enqueues work, which a library does if one has that name. The
// call is known by what the rank has announced.
func (s *Set) Call(name string, call func() error) error {
	l := s.open[name]
	if l == nil {
		return call()
	}
	if err := s.watchdog.begin(s.options.Status.Activity(), false); err != nil {
		return err
	}
	defer s.watchdog.end()
	if err := call(); err != nil {
		return &Error{l.Title(), err}
	}
	return nil
}

// supervise makes a call that is announced as an activity of its own.
func (s *Set) supervise(activity string, call func() error) error {
	before := s.options.Status.Activity()
	if err := s.options.Status.Announce("%s", activity); err != nil {
		return err
	}
	if err := s.watchdog.begin(activity, s.failure.get() != nil); err != nil {
		return err
	}
	err := call()
	s.watchdog.end()
	if err != nil {
		return err
	}
	return s.options.Status.Announce("%s", before)
}

// failure is why the rank fails. The watchdog reads it on a goroutine of its own.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// get is nil while nothing has failed.
func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
