package worker

import (
	"context"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// productRun is one rank's part in a job about products.
type productRun struct {
	*rank
	runner *matmul.Runner
	trials uint64 // so many calls were verified, on all ranks
}

// runProducts makes all measurements, in step with the peers: the cases of a problem
// side by side where the job is in rounds.
func (r *rank) runProducts(ctx context.Context) error {
	p, err := r.newProductRun(ctx)
	if err != nil {
		return fmt.Errorf("preparing the products: %w", err)
	}
	cases, done := r.plan.Products.Cases, 0
	for _, group := range p.groups() {
		if err := r.Reports.Progress(done, len(cases)); err != nil {
			return err
		}
		if err := p.measureGroup(ctx, group); err != nil {
			return err
		}
		r.Phases.Begin(phases.Cases)
		done += len(group)
	}
	return nil
}

// newProductRun makes the streams, and clears what counts from call to call.
func (r *rank) newProductRun(ctx context.Context) (*productRun, error) {
	copies, err := r.device.NewStream(cudart.HighPriority)
	if err != nil {
		return nil, fmt.Errorf("creating a stream for copies: %w", err)
	}
	r.onClose(copies.Close)
	p := &productRun{rank: r, runner: &matmul.Runner{
		Comm: r.comm, Device: r.device, Main: r.stream, Copies: copies,
		SMs: r.caps.ProductSMs(), LaunchesBlock: r.caps.LaunchesBlock(), BLAS: r.blas(),
	}}
	l := r.layout.Products
	if err := r.stream.Fill(r.comm.Local(l.Call.Counters), 0, l.Words); err != nil {
		return nil, fmt.Errorf("clearing the counters: %w", err)
	}
	if err := r.finish(ctx, workload.Case{}, nil); err != nil {
		return nil, err
	}
	return p, r.meet(ctx, "counters")
}

// groups are the cases that are measured side by side: all of a problem in rounds, else
// each by itself.
func (p *productRun) groups() (all [][]workload.ProductCase) {
	for _, c := range p.plan.Products.Cases {
		last := len(all) - 1
		if p.Job.Passes > 0 && last >= 0 && all[last][0].Problem.String() == c.Problem.String() {
			all[last] = append(all[last], c)
		} else {
			all = append(all, []workload.ProductCase{c})
		}
	}
	return all
}

// productContestant is a case while it is measured.
type productContestant struct {
	workload.ProductCase
	measurement
	call matmul.Call
}

// measureGroup verifies each case with inputs whose result is known to the bit, times
// them, verifies them again with random ones, and reports.
func (p *productRun) measureGroup(ctx context.Context, group []workload.ProductCase) error {
	all := make([]productContestant, len(group))
	for i := range all {
		all[i].ProductCase = group[i]
		if err := p.enter(ctx, &all[i]); err != nil {
			return err
		}
	}
	if err := p.time(ctx, all); err != nil {
		return err
	}
	for i := range all {
		c := &all[i]
		if err := p.verifyInto(ctx, c, reference.Random, "after timing"); err != nil {
			return err
		}
		if err := p.share(ctx, c); err != nil {
			return err
		}
		if !p.Job.Record {
			continue
		}
		if err := p.record(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// enter gets a case ready and verifies it.
func (p *productRun) enter(ctx context.Context, c *productContestant) error {
	if err := p.phase("preparing %s", c); err != nil {
		return err
	}
	p.Phases.Begin(phases.Load)
	c.call = p.layout.Products.Call
	c.call.Problem, c.call.Splits = c.Problem, c.Splits
	if err := p.prepare(c); err != nil {
		return err
	}
	if err := p.verifyInto(ctx, c, reference.Exact, "before timing"); err != nil {
		return err
	}
	p.Phases.Begin(phases.Measure)
	return p.injectAfterFirst()
}

// time times the cases: in rounds, or the only one call by call.
func (p *productRun) time(ctx context.Context, all []productContestant) error {
	if err := p.fillForTiming(ctx, all); err != nil {
		return err
	}
	for i := range all {
		if err := p.warmUp(ctx, &all[i]); err != nil {
			return err
		}
	}
	if p.Job.Passes == 0 {
		return p.timeCalls(ctx, &all[0])
	}
	stamps, err := newStamps(p.device, 2)
	if err != nil {
		return err
	}
	defer stamps.close()
	for round := range p.Job.Passes {
		for _, i := range order(p.Job.Seed, round, len(all)) {
			if err := p.timeRound(ctx, &all[i], stamps, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillForTiming writes random inputs, which all cases share. Small integers have few
// bits that change, so that multiplying them takes less power, and GPUs clock higher.
func (p *productRun) fillForTiming(ctx context.Context, all []productContestant) error {
	c := &all[0]
	if i := slices.IndexFunc(all, func(c productContestant) bool { return c.GatheredIsInput() }); i >= 0 {
		c = &all[i] // its inputs are all that there are
	}
	p.trials++
	return p.prepareProduct(ctx, productTrial{c, c.Input(p.Job.Seed+p.trials, reference.Random, p.WorldSize), "for timing"})
}

// warmUp makes the calls that are not timed, once all ranks have verified.
func (p *productRun) warmUp(ctx context.Context, c *productContestant) error {
	if err := p.phase("timing %s", c); err != nil {
		return err
	}
	if err := p.meetAfterProduct(ctx, c.ProductCase, "timing"); err != nil {
		return err
	}
	for range p.Job.Warmup {
		if err := p.enqueue(c); err != nil {
			return err
		}
	}
	return p.finish(ctx, c.Awaited(), nil)
}

// timeCalls launches calls back to back, with a time stamp between each.
func (p *productRun) timeCalls(ctx context.Context, c *productContestant) error {
	stamps, err := newStamps(p.device, p.Job.Iterations+1)
	if err != nil {
		return err
	}
	defer stamps.close()
	if err := p.stream.Record(stamps[0]); err != nil {
		return err
	}
	for _, stamp := range stamps[1:] {
		if err := p.enqueue(c); err != nil {
			return err
		}
		if err := p.stream.Record(stamp); err != nil {
			return err
		}
	}
	if err := p.finish(ctx, c.Awaited(), stamps); err != nil {
		return err
	}
	samples, err := stamps.intervals(1)
	c.Time = distribution(samples)
	return err
}

// timeRound takes a sample of a case.
func (p *productRun) timeRound(ctx context.Context, c *productContestant, s stamps, round int) error {
	if err := p.phase("timing %s, round %d of %d", c, round+1, p.Job.Passes); err != nil {
		return err
	}
	took, onHost, err := p.timeTogether(ctx, c.Awaited(), s, func() error {
		for range p.Job.Iterations {
			if err := p.enqueue(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.note(p.Job, took, onHost)
	c.Time = distribution(slices.Clone(c.Samples))
	return nil
}
