package products

import (
	"context"
	"slices"

	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/rank"
)

// time times the cases: in passes, or the only one call by call.
func (p *run) time(ctx context.Context, all []candidate) error {
	if err := p.fillForTiming(ctx, all); err != nil {
		return err
	}
	for i := range all {
		if err := p.warmUp(ctx, &all[i]); err != nil {
			return err
		}
	}
	if p.job.Passes == 0 {
		return p.timeCalls(ctx, &all[0])
	}
	events, err := p.NewEvents(2)
	if err != nil {
		return err
	}
	defer events.Close()
	for pass := range p.job.Passes {
		for _, i := range measure.Order(p.job.Seed, pass, len(all)) {
			if err := p.timePass(ctx, &all[i], events, pass); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillForTiming writes random inputs, which all cases share. Small integers have few
// bits that change: multiplying them takes less power, and GPUs clock higher.
func (p *run) fillForTiming(ctx context.Context, all []candidate) error {
	c := &all[0]
	if i := slices.IndexFunc(all, func(c candidate) bool { return c.GatheredIsInput() }); i >= 0 {
		c = &all[i] // its inputs include those of all others
	}
	p.trials++
	return p.fill(ctx, trial{c, c.Input(p.job.Seed+p.trials, reference.Random, p.World), "for timing"})
}

// warmUp makes the calls that are not timed, once all ranks have verified.
func (p *run) warmUp(ctx context.Context, c *candidate) error {
	if err := p.Status.Announce("timing %s", c); err != nil {
		return err
	}
	if err := p.meet(ctx, "timing", c); err != nil {
		return err
	}
	for range p.job.Warmup {
		if err := p.enqueue(c); err != nil {
			return err
		}
	}
	return p.Finish(ctx, workOf(c), nil)
}

// timeCalls times calls back to back.
func (p *run) timeCalls(ctx context.Context, c *candidate) error {
	samples, err := measure.Calls(ctx, p.Rank, workOf(c), p.job.Iterations, func() error { return p.enqueue(c) })
	c.Time = measure.Distribution(samples)
	return err
}

// timePass takes a sample of a case.
func (p *run) timePass(ctx context.Context, c *candidate, events rank.Events, pass int) error {
	if err := p.Status.Announce("timing %s, pass %d of %d", c, pass+1, p.job.Passes); err != nil {
		return err
	}
	sample, err := measure.Batch(ctx, p.Rank, workOf(c), events, func() error {
		for range p.job.Iterations {
			if err := p.enqueue(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.AddSample(sample, p.job.Iterations, false)
	c.Time = measure.Distribution(slices.Clone(c.Samples))
	return nil
}
