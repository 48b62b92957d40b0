package rank

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gpurun/worker/library"
)

// pollInterval is how often a rank that waits for its stream checks for errors and progress.
const pollInterval = time.Second

// Synchronize waits for the stream. It fails if a kernel has missed a peer.
func (r *Rank) Synchronize(ctx context.Context) error {
	if err := r.Stream.Synchronize(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("running the kernels: %w", err)
	}
	return r.Comm.Err()
}

// Finish waits for work on the stream. gpurun's own kernels bound their waits themselves:
// once one has given up, Finish does not wait for the rest. Work of the named library fails
// when it makes no progress within the peers' limit; empty is none. The events mark progress,
// which keeps the rank's activity alive: timing large sizes takes long.
func (r *Rank) Finish(ctx context.Context, libraryName string, events Events) error {
	foreign := r.Libraries.Get(libraryName) != nil
	progressed := time.Now()
	for done := 0; ; {
		waiting, cancel := context.WithTimeout(ctx, pollInterval)
		err := r.Synchronize(waiting)
		cancel()
		late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
		if foreign && (!late || time.Since(progressed) > r.Peers.Limit()) {
			if late {
				err = &library.StuckError{What: r.Status.Activity(), After: r.Peers.Limit()}
			}
			return errors.Join(r.Libraries.AsyncError(libraryName), err)
		}
		if !late {
			return err
		}
		if err := r.Libraries.AsyncError(libraryName); err != nil {
			return err
		}
		if err := r.Comm.Err(); err != nil {
			return err
		}
		if n := events.reached(); n > done {
			done, progressed = n, time.Now()
			if err := r.Status.KeepAlive(); err != nil {
				return err
			}
		}
	}
}
