package measure

import (
	"context"
	"fmt"
	"time"

	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/worker/rank"
)

// Calls enqueues so many calls back to back on the rank's stream, with an event between
// them, and returns how long each took.
func Calls(ctx context.Context, r *rank.Rank, work rank.Work, calls int,
	enqueue func() error,
) ([]time.Duration, error) {
	events, err := r.NewEvents(calls + 1)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	if err := r.Stream.Record(events[0]); err != nil {
		return nil, err
	}
	defer r.Launching()()
	for _, event := range events[1:] {
		if err := r.Comm.Err(); err != nil { // of a kernel that has missed a peer: no further call may be made
			return nil, err
		}
		if err := enqueue(); err != nil {
			return nil, err
		}
		if err := r.Stream.Record(event); err != nil {
			return nil, err
		}
	}
	if err := r.Finish(ctx, work, events); err != nil {
		return nil, err
	}
	return events.Intervals()
}

// Sample is how long a batch of calls took on the device, and how long the host took to
// enqueue the batch.
type Sample struct{ Took, OnHost time.Duration }

// Batch times what enqueue puts on the stream, while all ranks do so; it uses two events.
// The ranks meet twice: first their processes, so that none is far ahead, then their streams,
// so that no rank's time includes the others' lateness. Of two batches the second counts: the
// caches are warm, and the stream does not wait for the host.
func Batch(ctx context.Context, r *rank.Rank, work rank.Work, events rank.Events,
	enqueue func() error,
) (s Sample, err error) {
	if err := r.Peers.Meet(ctx, "batch"); err != nil {
		return s, err
	}
	if err := barrier.Meet(r.Comm, r.Stream, collective.StartBarrier); err != nil {
		return s, err
	}
	defer r.Launching()()
	for _, event := range events[:2] {
		began := time.Now()
		if err := enqueue(); err != nil {
			return s, err
		}
		s.OnHost = time.Since(began)
		if err := r.Stream.Record(event); err != nil {
			return s, err
		}
	}
	if err := r.Finish(ctx, work, events); err != nil {
		return s, err
	}
	if s.Took, err = events[1].Since(events[0]); err != nil {
		return s, fmt.Errorf("reading an event: %w", err)
	}
	return s, nil
}
