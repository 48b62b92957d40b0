// Package worker runs one rank: the rank joins its peers, opens its device, shares memory, does
// the job's measurements, and leaves.
package worker

import (
	"context"

	"gpurun/worker/collectives"
	"gpurun/worker/links"
	"gpurun/worker/products"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// Run runs one rank from its start to its end. It returns nil when the job is done on all ranks,
// even with wrong results. Otherwise it returns the first error that stopped this rank; [Explain]
// turns the error into a report.
//
// It must be called from the main goroutine of the worker: the device locks it
// to its thread.
func Run(ctx context.Context, o rank.Options) (err error) {
	r := rank.New(o)
	defer r.AnswerRequests()()
	defer func() { err = r.Close(ctx, err) }()

	plan, err := o.Job.Plan(o.WorldSize)
	if err != nil {
		return err
	}
	if ctx, err = r.Join(ctx); err != nil {
		return err
	}
	caps, err := r.CompareDevices(ctx)
	if err != nil {
		return err
	}
	if err := r.OpenLibraries(ctx, plan, &caps); err != nil {
		return err
	}
	if err := r.ChooseAlgorithms(&plan, caps); err != nil {
		return err
	}
	layout, err := r.ShareMemory(ctx, &plan, &caps)
	if err != nil {
		return err
	}
	if err := r.Connect(ctx, plan, caps, layout); err != nil {
		return err
	}
	if err := work(ctx, r, o.Job, plan, caps, layout); err != nil {
		return err
	}
	return r.Leave(ctx)
}

// work does the job's measurements.
func work(ctx context.Context, r *rank.Rank, job workload.Job, plan workload.Plan, caps workload.Capabilities,
	layout workload.Layout,
) error {
	switch {
	case job.Pairs:
		return links.CheckPairs(ctx, r, job, caps, layout.Pairs)
	case job.Products != nil:
		return products.Run(ctx, r, job, plan.Products.Cases, caps, layout.Products)
	}
	if job.CeilingBytes > 0 {
		if err := links.MeasureCeiling(ctx, r, job.CeilingBytes, plan.NoCeiling(caps), layout); err != nil {
			return err
		}
	}
	return collectives.Run(ctx, r, job, plan, layout)
}
