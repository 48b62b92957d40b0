package worker

import (
	"context"
	"slices"

	"gpurun/worker/workload"
)

// hopeless reports, the same on all ranks, whether a short look finds a case so
// slow that the job does not want it measured.
func (r *rank) hopeless(ctx context.Context, c workload.Case) (bool, error) {
	if r.Job.SkipSlowerThan <= 0 {
		return false, nil
	}
	if err := r.phase("looking at %s", c); err != nil {
		return false, err
	}
	mine, err := r.look(ctx, c)
	if err != nil {
		return false, err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	all, err := gather(ctx, r.group, "looks", mine)
	if err != nil {
		return false, err
	}
	slowest := slices.Max(all)
	fastest, seen := r.fastest[c.Task()]
	if !seen || slowest < fastest {
		r.fastest[c.Task()] = slowest
	}
	return seen && slowest > r.Job.SkipSlowerThan*fastest, nil
}

// look times a few calls, after one that loads what the case needs. It returns
// the median in microseconds.
func (r *rank) look(ctx context.Context, c workload.Case) (float64, error) {
	const calls = 3
	if err := r.meet(ctx, "looking"); err != nil {
		return 0, err
	}
	if err := r.enqueue(c); err != nil {
		return 0, err
	}
	samples, err := r.timeStream(ctx, c, calls)
	return distribution(samples).P50, err
}
