package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// time runs the case's calls and returns how long each took.
func (r *rank) time(ctx context.Context, c workload.Case) ([]time.Duration, error) {
	if err := r.phase("timing %s", c); err != nil {
		return nil, err
	}
	if err := r.meetAfterVerifying(ctx, c); err != nil {
		return nil, err
	}
	for range r.Job.Warmup {
		if err := r.enqueue(c); err != nil {
			return nil, err
		}
	}
	if r.Job.GraphReplays > 0 {
		return r.timeGraph(ctx, c)
	}
	return r.timeStream(ctx, c, r.Job.Iterations)
}

// timeStream launches calls back to back, with a time stamp between each.
func (r *rank) timeStream(ctx context.Context, c workload.Case, calls int) ([]time.Duration, error) {
	stamps, err := newStamps(r.device, calls+1)
	if err != nil {
		return nil, err
	}
	defer stamps.close()
	if err := r.stream.Record(stamps[0]); err != nil {
		return nil, err
	}
	for _, stamp := range stamps[1:] {
		if err := r.enqueue(c); err != nil {
			return nil, err
		}
		if err := r.stream.Record(stamp); err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx, c, stamps); err != nil {
		return nil, err
	}
	return stamps.intervals(1)
}

// timeGraph captures the calls in a graph and replays it; a sample is a
// replay's time over the number of calls in it.
func (r *rank) timeGraph(ctx context.Context, c workload.Case) ([]time.Duration, error) {
	graph, err := r.capture(c, r.Job.Iterations)
	if err != nil {
		return nil, err
	}
	defer graph.Close()
	stamps, err := newStamps(r.device, r.Job.GraphReplays+1)
	if err != nil {
		return nil, err
	}
	defer stamps.close()
	if err := graph.Launch(r.stream); err != nil { // uploads the graph
		return nil, err
	}
	if err := r.stream.Record(stamps[0]); err != nil {
		return nil, err
	}
	for _, stamp := range stamps[1:] {
		if err := graph.Launch(r.stream); err != nil {
			return nil, err
		}
		if err := r.stream.Record(stamp); err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx, c, stamps); err != nil {
		return nil, err
	}
	return stamps.intervals(r.Job.Iterations)
}

// timeTogether times what enqueue puts on the stream, while all ranks do so. The
// ranks meet twice: their processes, so that none is far ahead, and then their
// streams, so that no rank's time has the others' lateness in it. Of two times that it
// is enqueued the second counts: caches are then as they will stay, and the stream does
// not wait for the host. onHost is how long the host took to enqueue it.
func (r *rank) timeTogether(ctx context.Context, c workload.Case, s stamps, enqueue func() error) (took, onHost time.Duration, err error) {
	if err := r.meet(ctx, "batch"); err != nil {
		return 0, 0, err
	}
	if err := barrier.Meet(r.comm, r.stream, collective.StartBarrier); err != nil {
		return 0, 0, err
	}
	for _, stamp := range s[:2] {
		began := time.Now()
		if err := enqueue(); err != nil {
			return 0, 0, err
		}
		onHost = time.Since(began)
		if err := r.stream.Record(stamp); err != nil {
			return 0, 0, err
		}
	}
	if err := r.finish(ctx, c, s); err != nil {
		return 0, 0, err
	}
	if took, err = s[1].Since(s[0]); err != nil {
		return 0, 0, fmt.Errorf("reading an event: %w", err)
	}
	return took, onHost, nil
}

// lookEvery is how often a rank that waits for its stream looks around.
const lookEvery = time.Second

// finish waits for the stream, but not for what is left on it once a kernel
// has given up, nor for a library's that has failed or makes no progress. It lets the launcher know
// for as long as the stream gets from stamp to stamp: to time large sizes takes its
// time.
func (r *rank) finish(ctx context.Context, c workload.Case, s stamps) error {
	foreign := r.foreign(c)
	moved := time.Now()
	for done := 0; ; {
		waiting, cancel := context.WithTimeout(ctx, lookEvery)
		err := r.synchronize(waiting)
		cancel()
		late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
		if foreign != nil && (!late || time.Since(moved) > r.Job.Timeout+waitSlack) {
			return r.blame(ctx, foreign, r.doing, err)
		}
		if !late {
			return err
		}
		if err := cmp.Or(hidden(foreign), r.comm.Err()); err != nil {
			return err
		}
		if n := s.reached(); n > done {
			done, moved = n, time.Now()
			if err := r.alive(); err != nil {
				return err
			}
		}
	}
}

// hidden is what went wrong in a library behind the caller's back, or nil.
func hidden(l Library) error {
	if l == nil {
		return nil
	}
	if err := l.Err(); err != nil {
		return &LibraryError{l.Title(), err}
	}
	return nil
}

// meet lines the ranks up.
func (r *rank) meet(ctx context.Context, name string) error {
	ctx, cancel := r.within(ctx)
	defer cancel()
	return r.group.Barrier(ctx, name)
}

// meetAfterVerifying lines the ranks up once all have verified a case.
func (r *rank) meetAfterVerifying(ctx context.Context, c workload.Case) error {
	ctx, cancel := r.afterVerifying(ctx, c)
	defer cancel()
	return r.group.Barrier(ctx, "timing")
}

// distribution sorts the samples and picks the quantiles by nearest rank.
func distribution(samples []time.Duration) result.Time {
	if len(samples) == 0 {
		return result.Time{}
	}
	slices.Sort(samples)
	at := func(percent int) float64 {
		i := (len(samples)*percent + 99) / 100
		return float64(samples[max(i, 1)-1].Nanoseconds()) / 1e3
	}
	return result.Time{Min: at(0), P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}
