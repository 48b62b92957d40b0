// Package products verifies and times products of matrices that are spread over the ranks.
//
// Every algorithm is verified twice: with small integers, whose result is the same in any
// order of additions, and with random numbers, whose result lies within derived bounds. An
// algorithm that does not communicate is verified against its rank's own product.
package products

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/libraries"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/rank"
	"gpurun/worker/result/phases"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// Run measures the cases, in step with the peers: the cases of a problem side by side where
// the job is in passes. Rank 0 reports the results.
func Run(ctx context.Context, r *rank.Rank, job workload.Job, cases []workload.ProductCase, caps workload.Capabilities,
	layout workload.ProductLayout,
) error {
	p, err := newRun(ctx, r, job, caps, layout)
	if err != nil {
		return fmt.Errorf("preparing the products: %w", err)
	}
	done := 0
	for _, group := range groups(cases, job.Passes > 0) {
		if err := r.Status.Progress(done, len(cases)); err != nil {
			return err
		}
		if err := p.measureGroup(ctx, group); err != nil {
			return err
		}
		r.Status.Begin(phases.Cases)
		done += len(group)
	}
	return p.verifyFurther(ctx, cases)
}

// run is one rank's part in a job about products.
type run struct {
	*rank.Rank
	job     workload.Job
	layout  workload.ProductLayout
	runner  *matmul.Runner
	staging *verify.Staging
	faults  *verify.Faults
	trials  uint64 // calls verified so far, on all ranks
}

// newRun makes the streams, and clears the counters that last from call to call.
func newRun(ctx context.Context, r *rank.Rank, job workload.Job, caps workload.Capabilities,
	layout workload.ProductLayout,
) (*run, error) {
	copies, err := r.Device.NewStream(cudart.HighPriority)
	if err != nil {
		return nil, fmt.Errorf("creating a stream for copies: %w", err)
	}
	r.OnClose(copies.Close)
	blas, _ := r.Libraries.Get(libraries.CUBLASName).(matmul.BLAS)
	p := &run{
		Rank: r, job: job, layout: layout, staging: verify.NewStaging(r), faults: verify.NewFaults(job.Inject, r.ID),
		runner: &matmul.Runner{
			Comm: r.Comm, Device: r.Device, Main: r.Stream, Copies: copies,
			SMs: caps.ProductSMs(), LaunchesBlock: caps.LaunchesBlock(), BLAS: blas,
		},
	}
	if err := r.Stream.Fill(r.Comm.Local(layout.Call.Counters), 0, layout.Words); err != nil {
		return nil, fmt.Errorf("clearing the counters: %w", err)
	}
	if err := r.Finish(ctx, rank.Work{}, nil); err != nil {
		return nil, err
	}
	return p, r.Peers.Meet(ctx, "counters")
}

// groups are the cases that are measured together: side by side all of a problem, else
// each by itself.
func groups(cases []workload.ProductCase, sideBySide bool) (all [][]workload.ProductCase) {
	for _, c := range cases {
		last := len(all) - 1
		if sideBySide && last >= 0 && all[last][0].Problem.String() == c.Problem.String() {
			all[last] = append(all[last], c)
		} else {
			all = append(all, []workload.ProductCase{c})
		}
	}
	return all
}

// candidate is a case while it is measured.
type candidate struct {
	workload.ProductCase
	measure.Measurement
	call matmul.Call
}

// measureGroup verifies each case with inputs whose result is known to the bit, times
// them, verifies them again with random ones, and reports.
func (p *run) measureGroup(ctx context.Context, group []workload.ProductCase) error {
	all := make([]candidate, len(group))
	for i := range all {
		all[i].ProductCase = group[i]
		if err := p.prepare(ctx, &all[i]); err != nil {
			return err
		}
	}
	if err := p.time(ctx, all); err != nil {
		return err
	}
	for i := range all {
		c := &all[i]
		if err := p.verify(ctx, c, reference.Random, "after timing"); err != nil {
			return err
		}
		if err := p.share(ctx, c); err != nil {
			return err
		}
		if !p.job.Record {
			continue
		}
		if err := p.record(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// prepare gets a case ready and verifies it.
func (p *run) prepare(ctx context.Context, c *candidate) error {
	if err := p.Status.Announce("preparing %s", c); err != nil {
		return err
	}
	p.Status.Begin(phases.Load)
	if err := p.place(ctx, c); err != nil {
		return err
	}
	if err := p.verify(ctx, c, reference.Exact, "before timing"); err != nil {
		return err
	}
	p.Status.Begin(phases.Measure)
	return p.faults.AfterFirstCall()
}

// place gives a case its buffers, and prepares calls with them. Areas hold their initial values before any rank makes a
// call.
func (p *run) place(ctx context.Context, c *candidate) error {
	c.call = p.layout.Call
	c.call.Problem, c.call.Splits = c.Problem, c.Splits
	if err := p.call(c, p.runner.Prepare); err != nil || c.Algorithm.Areas == nil {
		return err
	}
	if err := p.Finish(ctx, rank.Work{}, nil); err != nil {
		return err
	}
	return p.meet(ctx, "initial values", c)
}

// enqueue puts a call of the case on the stream. A library may wait for the peers in its
// first one.
func (p *run) enqueue(c *candidate) error { return p.call(c, p.runner.Enqueue) }

// call makes a call of the runner, perhaps by a library.
func (p *run) call(c *candidate, do func(a *matmul.Algorithm, call matmul.Call) error) error {
	return p.Call(workOf(c), func() error { return do(c.Algorithm, c.call) })
}

// workOf says what does the case.
func workOf(c *candidate) rank.Work {
	w := rank.Work{Library: c.Algorithm.Library}
	if c.Algorithm.Unbounded {
		w.Unbounded = c.Operation.Name + " " + c.Algorithm.Name
	}
	return w
}

// meet waits for all ranks, some of which may still be verifying a case.
func (p *run) meet(ctx context.Context, name string, c *candidate) error {
	return p.Peers.MeetAfter(ctx, name, c.Verifying(p.World))
}
