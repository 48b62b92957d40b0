package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// measurement is what one rank found out about a case.
type measurement struct {
	Time       result.Time       `json:"time"`
	Mismatches []result.Mismatch `json:"mismatches,omitempty"`
	// Samples are the times of a call by round; without rounds there are none.
	Samples []time.Duration `json:"samples,omitempty"`
	// OnHost are likewise those of the host until a call was enqueued; of calls in graphs there are none.
	OnHost []time.Duration `json:"on_host,omitempty"`
	// Norms are those of a product of random inputs; nil: they are no numbers, or there
	// was none.
	Norms *reference.Norms `json:"norms,omitempty"`
}

func (m measurement) wrong() (n int64) {
	for _, x := range m.Mismatches {
		n += x.Wrong
	}
	return n
}

// measure verifies a case with inputs whose result is known to the bit, times
// it, and verifies it again with random inputs.
func (r *rank) measure(ctx context.Context, c workload.Case) (measurement, error) {
	var m measurement
	submit, release, err := r.submission(ctx, c)
	if err != nil {
		return m, err
	}
	defer release()
	if err := r.verifyInto(ctx, &m, r.newTrial(c, reference.Exact, "before timing"), submit); err != nil {
		return m, err
	}
	r.Phases.Begin(phases.Measure)
	if err := r.injectAfterFirst(); err != nil {
		return m, err
	}
	samples, err := r.time(ctx, c)
	if err != nil {
		return m, err
	}
	m.Time = distribution(samples)
	return m, r.verifyInto(ctx, &m, r.newTrial(c, reference.Random, "after timing"), submit)
}

// submission returns how one call of the case is put on the stream: launched,
// or, when the job is about graphs, replayed from a graph that is captured once
// and so must work for whatever the buffers hold. The caller releases it.
func (r *rank) submission(ctx context.Context, c workload.Case) (submit func() error, release func(), err error) {
	if r.Job.GraphReplays == 0 {
		return func() error { return r.enqueue(c) }, func() {}, nil
	}
	if err := r.connect(ctx, c); err != nil {
		return nil, nil, err
	}
	graph, err := r.capture(c, 1)
	if err != nil {
		return nil, nil, err
	}
	// What fails on release is freed with the device.
	return func() error { return graph.Launch(r.stream) }, func() { _ = graph.Close() }, nil
}

// connect makes a call of a library's case outside of any graph. In the first call of
// a kind a library connects to its peers and allocates what it needs, which has no
// place in a capture. All ranks have met since one last looked at the buffers.
func (r *rank) connect(ctx context.Context, c workload.Case) error {
	if r.foreign(c) == nil {
		return nil
	}
	if err := r.phase("making a first call of %s", c); err != nil {
		return err
	}
	if err := r.enqueue(c); err != nil {
		return err
	}
	return r.settle(ctx, c)
}

// capture makes a graph of so many calls of the case.
func (r *rank) capture(c workload.Case, calls int) (cudart.Graph, error) {
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

// enqueue puts one call of the case on the stream.
func (r *rank) enqueue(c workload.Case) error {
	l := r.foreign(c)
	if l == nil {
		return c.Algorithm.Enqueue(r.comm, r.stream, r.place(c))
	}
	if err := r.watchdog.begin(r.doing, false); err != nil {
		return err
	}
	defer r.watchdog.end()
	if err := c.Algorithm.Enqueue(r.comm, r.stream, r.place(c)); err != nil {
		return &LibraryError{l.Title(), err}
	}
	return nil
}

// place is the case's call with its buffers.
func (r *rank) place(c workload.Case) collective.Call {
	return r.layout.Place(c, r.Rank)
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

// settle is synchronize after a call of the case. Kernels of gpurun's bound their
// waits themselves; those of others are waited for within the timeout.
func (r *rank) settle(ctx context.Context, c workload.Case) error { return r.finish(ctx, c, nil) }

// foreign is the library of others that does the case, or nil.
func (r *rank) foreign(c workload.Case) Library {
	if c.Algorithm == nil || c.Algorithm.Needs.Library == "" {
		return nil
	}
	return r.libraries[c.Algorithm.Needs.Library]
}

// title is the library's name and version, or empty for gpurun's own kernels.
func (r *rank) title(c workload.Case) string {
	if l := r.foreign(c); l != nil {
		return l.Title()
	}
	return ""
}

// blame makes the library's own what it has to do with: that the stream does not
// come to an end, and what went wrong behind the caller's back.
func (r *rank) blame(ctx context.Context, l Library, what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = &StuckError{what, r.Job.Timeout + waitSlack}
	}
	return errors.Join(hidden(l), err)
}
