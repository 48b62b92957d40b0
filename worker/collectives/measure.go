package collectives

import (
	"context"
	"time"

	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// measure verifies a case with inputs whose result is known to the bit, times
// it, and verifies it again with random inputs.
func (r *run) measure(ctx context.Context, c workload.Case) (m measure.Measurement, err error) {
	submit, release, err := r.submission(ctx, c)
	if err != nil {
		return m, err
	}
	defer release()
	seed := r.seeds.next(c.InPlace)
	if err := r.verify(ctx, &m, r.newTrial(c, seed, reference.Exact, "before timing"), submit); err != nil {
		return m, err
	}
	r.Status.Begin(phases.Measure)
	if err := r.faults.AfterFirstCall(); err != nil {
		return m, err
	}
	samples, err := r.time(ctx, c)
	if err != nil {
		return m, err
	}
	m.Time = measure.Distribution(samples)
	return m, r.verify(ctx, &m, r.newTrial(c, seed, reference.Random, "after timing"), submit)
}

// time runs the case's calls and returns how long each took.
func (r *run) time(ctx context.Context, c workload.Case) ([]time.Duration, error) {
	if err := r.Status.Announce("timing %s", c); err != nil {
		return nil, err
	}
	if err := r.meet(ctx, c); err != nil {
		return nil, err
	}
	enqueue := func() error { return r.enqueue(c) }
	if err := r.repeat(r.job.Warmup, enqueue); err != nil {
		return nil, err
	}
	if r.job.GraphReplays > 0 {
		return r.timeGraph(ctx, c)
	}
	return measure.Calls(ctx, r.Rank, workOf(c), r.job.Iterations, enqueue)
}

// timeGraph captures the calls in a graph and replays it; a sample is a
// replay's time over the number of calls in it.
func (r *run) timeGraph(ctx context.Context, c workload.Case) ([]time.Duration, error) {
	graph, err := r.capture(c, r.job.Iterations)
	if err != nil {
		return nil, err
	}
	defer graph.Close()
	launch := func() error { return graph.Launch(r.Stream) }
	if err := launch(); err != nil { // uploads the graph
		return nil, err
	}
	samples, err := measure.Calls(ctx, r.Rank, workOf(c), r.job.GraphReplays, launch)
	for i := range samples {
		samples[i] /= time.Duration(r.job.Iterations)
	}
	return samples, err
}
