package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// measurement is what one rank found out about a case.
type measurement struct {
	Time       result.Time       `json:"time"`
	Mismatches []result.Mismatch `json:"mismatches,omitempty"`
}

func (m measurement) wrong() (n int64) {
	for _, x := range m.Mismatches {
		n += x.Wrong
	}
	return n
}

// measure verifies a case with inputs whose result is known to the bit, times
// it, and verifies it again with random inputs.
func (r *rank) measure(ctx context.Context, c testCase) (measurement, error) {
	var m measurement
	submit, release, err := r.submission(c)
	if err != nil {
		return m, err
	}
	defer release()
	if err := r.verifyInto(ctx, &m, c, submit, reference.Exact, "before timing"); err != nil {
		return m, err
	}
	if err := r.injectAfterFirst(); err != nil {
		return m, err
	}
	samples, err := r.time(ctx, c)
	if err != nil {
		return m, err
	}
	m.Time = distribution(samples)
	return m, r.verifyInto(ctx, &m, c, submit, reference.Random, "after timing")
}

// submission returns how one call of the case is put on the stream: launched,
// or, when the job is about graphs, replayed from a graph that is captured once
// and so must work for whatever the buffers hold. The caller releases it.
func (r *rank) submission(c testCase) (submit func() error, release func(), err error) {
	if r.Job.GraphReplays == 0 {
		return func() error { return r.enqueue(c) }, func() {}, nil
	}
	graph, err := r.capture(c, 1)
	if err != nil {
		return nil, nil, err
	}
	// What fails on release is freed with the device.
	return func() error { return graph.Launch(r.stream) }, func() { _ = graph.Close() }, nil
}

// capture makes a graph of so many calls of the case.
func (r *rank) capture(c testCase, calls int) (cudart.Graph, error) {
	graph, err := r.stream.Capture(func() error {
		for range calls {
			if err := r.enqueue(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("capturing a graph: %w", err)
	}
	return graph, nil
}

// time runs the case's calls and returns how long each took.
func (r *rank) time(ctx context.Context, c testCase) ([]time.Duration, error) {
	if err := r.phase("timing %s", c); err != nil {
		return nil, err
	}
	if err := r.meet(ctx); err != nil {
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
	return r.timeStream(ctx, c)
}

// timeStream launches the calls back to back, with a time stamp between each.
func (r *rank) timeStream(ctx context.Context, c testCase) ([]time.Duration, error) {
	stamps, err := newStamps(r.device, r.Job.Iterations+1)
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
	if err := r.synchronize(ctx); err != nil {
		return nil, err
	}
	return stamps.intervals(1)
}

// timeGraph captures the calls in a graph and replays it; a sample is a
// replay's time over the number of calls in it.
func (r *rank) timeGraph(ctx context.Context, c testCase) ([]time.Duration, error) {
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
	if err := r.synchronize(ctx); err != nil {
		return nil, err
	}
	return stamps.intervals(r.Job.Iterations)
}

// enqueue puts one call of the case on the stream.
func (r *rank) enqueue(c testCase) error {
	return c.algorithm.Enqueue(r.comm, r.stream, r.call(c))
}

// call places a case in the symmetric memory. In place, the output is the
// input.
func (r *rank) call(c testCase) collective.Call {
	call := collective.Call{Send: r.layout.send, Recv: r.layout.recv, Count: c.count, DType: c.dtype, Op: c.op}
	if c.inPlace {
		call.Send = call.Recv
	}
	return call
}

// synchronize waits for the stream and for word from the kernels that a peer
// did not come.
func (r *rank) synchronize(ctx context.Context) error {
	if err := r.stream.Synchronize(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("running the kernels: %w", err)
	}
	return r.comm.Err()
}

// meet lines the ranks up.
func (r *rank) meet(ctx context.Context) error {
	ctx, cancel := r.within(ctx)
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
