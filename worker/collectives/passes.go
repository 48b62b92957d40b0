package collectives

import (
	"context"
	"slices"

	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/rank"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// In passes, the cases that differ in algorithm and grid alone are measured side by side: A B
// C, B C A, ..., in an order that changes from pass to pass. Clocks and temperatures drift,
// and other jobs come and go. Side by side, these changes affect all candidates equally.

// candidate is a case of a group while that is measured.
type candidate struct {
	workload.Case
	measure.Measurement
	submit func() error // puts one call on the stream
	batch  func() error // puts as many on it as are timed together
	events rank.Events  // before the batch and after
	seed   uint64
	closed []func()
}

func (c *candidate) close() {
	for _, f := range c.closed {
		f()
	}
}

// measureSideBySide measures groups of cases in passes.
func (r *run) measureSideBySide(ctx context.Context, groups [][]workload.Case) error {
	done, total := 0, len(slices.Concat(groups...))
	for _, group := range groups {
		if err := r.Status.Progress(done, total); err != nil {
			return err
		}
		mine, err := r.measureGroup(ctx, group)
		if err != nil { // the announced activity names the case
			return err
		}
		if err := r.shareGroup(ctx, group, mine); err != nil {
			return err
		}
		r.Status.Begin(phases.Cases)
		done += len(group)
	}
	return nil
}

// measureGroup verifies each case of a group, times them in passes, and verifies
// them again.
func (r *run) measureGroup(ctx context.Context, group []workload.Case) ([]measure.Measurement, error) {
	all := make([]candidate, len(group))
	for i := range all {
		c := &all[i]
		c.Case = group[i]
		defer c.close()
		if err := r.prepareCandidate(ctx, c); err != nil {
			return nil, err
		}
	}
	for pass := range r.job.Passes {
		for _, i := range measure.Order(r.job.Seed, pass, len(all)) {
			if err := r.timePass(ctx, &all[i], pass); err != nil {
				return nil, err
			}
		}
	}
	var found []measure.Measurement
	for i := range all {
		c := &all[i]
		c.Time = measure.Distribution(slices.Clone(c.Samples))
		t := r.newTrial(c.Case, c.seed, reference.Random, "after timing")
		if err := r.verify(ctx, &c.Measurement, t, c.submit); err != nil {
			return nil, err
		}
		if err := r.meet(ctx, c.Case); err != nil {
			return nil, err
		}
		found = append(found, c.Measurement)
	}
	return found, nil
}

// prepareCandidate verifies a case and makes what its passes need.
func (r *run) prepareCandidate(ctx context.Context, c *candidate) (err error) {
	if err := r.load(ctx, c.Case); err != nil {
		return err
	}
	var release func()
	if c.submit, release, err = r.submission(ctx, c.Case); err != nil {
		return err
	}
	c.closed = append(c.closed, release)
	c.seed = r.seeds.next(c.InPlace)
	t := r.newTrial(c.Case, c.seed, reference.Exact, "before timing")
	if err := r.verify(ctx, &c.Measurement, t, c.submit); err != nil {
		return err
	}
	r.Status.Begin(phases.Measure)
	if err := r.faults.AfterFirstCall(); err != nil {
		return err
	}
	if c.events, err = r.NewEvents(2); err != nil {
		return err
	}
	c.closed = append(c.closed, c.events.Close)
	if err := r.makeBatch(c); err != nil {
		return err
	}
	if err := r.meet(ctx, c.Case); err != nil {
		return err
	}
	return r.warmUp(ctx, c)
}

// makeBatch makes the function that puts the calls of a sample on the stream: one by one, or all
// in a graph.
func (r *run) makeBatch(c *candidate) error {
	if r.job.GraphReplays == 0 {
		c.batch = func() error { return r.repeat(r.job.Iterations, c.submit) }
		return nil
	}
	graph, err := r.capture(c.Case, r.job.Iterations)
	if err != nil {
		return err
	}
	c.closed = append(c.closed, func() { _ = graph.Close() }) // else freed with the device
	c.batch = func() error { return graph.Launch(r.Stream) }
	return nil
}

// warmUp makes the calls that are not timed, and uploads the graph.
func (r *run) warmUp(ctx context.Context, c *candidate) error {
	if err := r.Status.Announce("warming up %s", c.Case); err != nil {
		return err
	}
	if err := r.repeat(r.job.Warmup, c.submit); err != nil {
		return err
	}
	if r.job.GraphReplays > 0 {
		if err := c.batch(); err != nil {
			return err
		}
	}
	return r.finish(ctx, c.Case)
}

// timePass takes a sample of a case.
func (r *run) timePass(ctx context.Context, c *candidate, pass int) error {
	if err := r.Status.Announce("timing %s, pass %d of %d", c.Case, pass+1, r.job.Passes); err != nil {
		return err
	}
	sample, err := measure.Batch(ctx, r.Rank, workOf(c.Case), c.events, c.batch)
	if err != nil {
		return err
	}
	c.AddSample(sample, r.job.Iterations, r.job.GraphReplays > 0)
	return nil
}
