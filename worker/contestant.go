package worker

import (
	"context"

	"gpurun/kernels/reference"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// contestant is a case of a group while that is measured.
type contestant struct {
	workload.Case
	measurement
	submit func() error // puts one call on the stream
	batch  func() error // puts as many on it as are timed together
	stamps stamps       // before the batch and after
	closed []func()
}

func (c *contestant) close() {
	for _, f := range c.closed {
		f()
	}
}

// enter verifies a case and makes what its rounds need.
func (r *rank) enter(ctx context.Context, c *contestant) (err error) {
	r.Phases.Begin(phases.Load)
	if err := r.comm.Prepare(r.stream, c.Algorithm, r.place(c.Case)); err != nil {
		return err
	}
	var release func()
	if c.submit, release, err = r.submission(ctx, c.Case); err != nil {
		return err
	}
	c.closed = append(c.closed, release)
	if err := r.verifyInto(ctx, &c.measurement, r.newTrial(c.Case, reference.Exact, "before timing"), c.submit); err != nil {
		return err
	}
	r.Phases.Begin(phases.Measure)
	if err := r.injectAfterFirst(); err != nil {
		return err
	}
	if c.stamps, err = newStamps(r.device, 2); err != nil {
		return err
	}
	c.closed = append(c.closed, c.stamps.close)
	if err := r.makeBatch(c); err != nil {
		return err
	}
	if err := r.meetAfterVerifying(ctx, c.Case); err != nil {
		return err
	}
	return r.warmUp(ctx, c)
}

// makeBatch decides how the calls that are timed together get on the stream: one
// after the other, or all in a graph.
func (r *rank) makeBatch(c *contestant) error {
	if r.Job.GraphReplays == 0 {
		c.batch = func() error {
			for range r.Job.Iterations {
				if err := c.submit(); err != nil {
					return err
				}
			}
			return nil
		}
		return nil
	}
	graph, err := r.capture(c.Case, r.Job.Iterations)
	if err != nil {
		return err
	}
	c.closed = append(c.closed, func() { _ = graph.Close() }) // else freed with the device
	c.batch = func() error { return graph.Launch(r.stream) }
	return nil
}

// warmUp makes the calls that are not timed, and uploads the graph.
func (r *rank) warmUp(ctx context.Context, c *contestant) error {
	if err := r.phase("warming up %s", c.Case); err != nil {
		return err
	}
	for range r.Job.Warmup {
		if err := c.submit(); err != nil {
			return err
		}
	}
	if r.Job.GraphReplays > 0 {
		if err := c.batch(); err != nil {
			return err
		}
	}
	return r.finish(ctx, c.Case, nil)
}
