package worker

import (
	"context"

	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// runSweep makes all measurements, in step with the peers, in every cycle again.
func (r *rank) runSweep(ctx context.Context) error {
	if r.Job.Passes > 0 {
		return r.runRounds(ctx)
	}
	cycles, done := max(r.Job.Cycles, 1), 0
	for range cycles {
		for _, c := range r.plan.Cases {
			if err := r.Reports.Progress(done, cycles*len(r.plan.Cases)); err != nil {
				return err
			}
			if err := r.runCase(ctx, c); err != nil { // the phase names the case
				return err
			}
			r.Phases.Begin(phases.Cases)
			done++
		}
	}
	return nil
}

// runCase measures a case, unless there is no hope in it.
func (r *rank) runCase(ctx context.Context, c workload.Case) error {
	r.Phases.Begin(phases.Load)
	if err := r.comm.Prepare(r.stream, c.Algorithm, r.place(c)); err != nil {
		return err
	}
	if hopeless, err := r.hopeless(ctx, c); err != nil || hopeless {
		return err
	}
	mine, err := r.measure(ctx, c)
	if err != nil {
		return err
	}
	return r.share(ctx, c, mine)
}
