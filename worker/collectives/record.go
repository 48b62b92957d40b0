package collectives

import (
	"context"

	"gpurun/kernels/collective"
	"gpurun/worker/measure"
	"gpurun/worker/workload"
)

// record makes one more call, of the first case that the job measures, and reports when its steps ran on this rank.
func (r *run) record(ctx context.Context, c workload.Case) error {
	if !r.job.Record || r.recorded {
		return nil
	}
	r.recorded = true
	if err := r.Status.Announce("recording %s", c); err != nil {
		return err
	}
	if err := r.Peers.MeetAfter(ctx, "recording", c.Verifying()); err != nil {
		return err
	}
	return measure.Steps(ctx, r.Rank, workOf(c), func() error { return r.enqueue(c) },
		func(to *collective.StepRecorder) error { return c.Algorithm.Record(r.Comm, r.Stream, r.place(c), to) })
}
