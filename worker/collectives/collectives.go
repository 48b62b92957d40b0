// Package collectives verifies and times the cases of a collective: one after the other, or
// side by side in passes.
package collectives

import (
	"context"
	"slices"

	"gpurun/kernels/collective"
	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/rank"
	"gpurun/worker/result/phases"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// Run measures the plan's cases, in step with the peers. Rank 0 reports the results.
func Run(ctx context.Context, r *rank.Rank, job workload.Job, plan workload.Plan, layout workload.Layout) error {
	m := &run{
		Rank: r, job: job, collective: plan.Collective, layout: layout,
		staging: verify.NewStaging(r), faults: verify.NewFaults(job.Inject, r.ID), fastest: map[string]float64{},
		seeds: seeds{job: job.Seed},
	}
	if job.Passes > 0 {
		return m.measureSideBySide(ctx, plan.SideBySide())
	}
	if err := m.sweep(ctx, plan.Cases); err != nil {
		return err
	}
	return m.verifyFurther(ctx, plan.Cases)
}

// run is one rank's part in measuring a collective.
type run struct {
	*rank.Rank
	job        workload.Job
	collective *collective.Collective
	layout     workload.Layout
	staging    *verify.Staging
	faults     *verify.Faults
	fastest    map[string]float64 // microseconds of the fastest case of each task, by tooSlow
	seeds      seeds
	recorded   bool // the call of the timeline
}

// sweep measures one case after the other, in every cycle again.
func (r *run) sweep(ctx context.Context, cases []workload.Case) error {
	cycles, done := max(r.job.Cycles, 1), 0
	for range cycles {
		for _, c := range cases {
			if err := r.Status.Progress(done, cycles*len(cases)); err != nil {
				return err
			}
			if err := r.measureCase(ctx, c); err != nil { // the announced activity names the case
				return err
			}
			r.Status.Begin(phases.Cases)
			done++
		}
	}
	return nil
}

// measureCase measures a case and reports it, unless it is too slow.
func (r *run) measureCase(ctx context.Context, c workload.Case) error {
	if err := r.load(ctx, c); err != nil {
		return err
	}
	if skip, err := r.tooSlow(ctx, c); err != nil || skip {
		return err
	}
	mine, err := r.measure(ctx, c)
	if err != nil {
		return err
	}
	if err := r.share(ctx, c, mine); err != nil {
		return err
	}
	return r.record(ctx, c)
}

// tooSlow reports, the same on all ranks, whether a few trial calls take longer than the job
// wants measured: Job.SkipSlowerThan times the fastest case of the same task so far.
func (r *run) tooSlow(ctx context.Context, c workload.Case) (bool, error) {
	if r.job.SkipSlowerThan <= 0 {
		return false, nil
	}
	if err := r.Status.Announce("trying %s", c); err != nil {
		return false, err
	}
	mine, err := r.timeTrial(ctx, c)
	if err != nil {
		return false, err
	}
	all, err := peers.Gather(ctx, r.Peers, "trial times", mine)
	if err != nil {
		return false, err
	}
	slowest := slices.Max(all)
	fastest, seen := r.fastest[c.Task()]
	if !seen || slowest < fastest {
		r.fastest[c.Task()] = slowest
	}
	return seen && slowest > r.job.SkipSlowerThan*fastest, nil
}

// timeTrial times a few calls, after one that loads what the case needs. It returns
// the median in microseconds.
func (r *run) timeTrial(ctx context.Context, c workload.Case) (float64, error) {
	const calls = 3
	if err := r.Peers.Meet(ctx, "trial"); err != nil {
		return 0, err
	}
	if err := r.enqueue(c); err != nil {
		return 0, err
	}
	samples, err := measure.Calls(ctx, r.Rank, workOf(c), calls, func() error { return r.enqueue(c) })
	return measure.Distribution(samples).P50, err
}
