package rank

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollInterval is how often a rank that waits for its stream checks for errors and progress.
const pollInterval = time.Second

// Synchronize waits for the stream. It fails if a kernel has missed a peer.
func (r *Rank) Synchronize(ctx context.Context) error {
	defer r.Status.Steps().Enter(waitStep)()
	if err := r.Stream.Synchronize(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("running the kernels: %w", err)
	}
	return r.Comm.Err()
}

// Work says what does the work on a stream. The zero value is gpurun's own kernels.
type Work struct {
	// Library is the name of an external library, or empty.
	Library string
	// Unbounded is the name of an algorithm whose kernels wait for peers without a bound of their own, or empty.
	Unbounded string
}

// Finish waits for work on the stream. gpurun's own kernels bound their waits themselves:
// once one has given up, Finish does not wait for the rest. Work of a library fails when it
// makes no progress within the peers' limit, and so do unbounded kernels, within the job's
// timeout. The events mark progress, which keeps the rank's activity alive: timing large
// sizes takes long.
func (r *Rank) Finish(ctx context.Context, work Work, events Events) error {
	defer r.Status.Steps().Enter(waitStep)()
	s := supervision{Rank: r, work: work, looked: time.Now()}
	for done := 0; ; {
		waiting, cancel := context.WithTimeout(ctx, s.pollInterval())
		err := r.Synchronize(waiting)
		cancel()
		if late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded); !late {
			return errors.Join(r.Libraries.AsyncError(work.Library), err)
		}
		if err := r.Libraries.AsyncError(work.Library); err != nil {
			return err
		}
		if err := r.Comm.Err(); err != nil {
			return err
		}
		if n := events.reached(); n > done {
			done = n
			s.proceeded(time.Now())
			if err := r.Status.KeepAlive(); err != nil {
				return err
			}
		}
		if err := s.check(ctx); err != nil {
			return err
		}
	}
}

// Call makes a call that enqueues work. One that does not return is aborted.
func (r *Rank) Call(work Work, call func() error) error {
	if work.Unbounded == "" {
		return r.Libraries.Call(work.Library, call)
	}
	defer r.abortAfter(r.options.Job.Timeout, work)()
	return call()
}
