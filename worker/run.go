// Package worker is the story of one rank: it joins its peers, opens its device, shares
// memory, runs what the job asks for, and leaves.
package worker

import (
	"context"

	"gpurun/worker/collectives"
	"gpurun/worker/links"
	"gpurun/worker/products"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// Run is the whole life of one rank. It returns when the job is done on all
// ranks, wrong results included, or with the first error that kept this rank
// from going on; [Explain] turns that into a report.
//
// It must be called from the main goroutine of the worker: the device locks it
// to its thread.
func Run(ctx context.Context, o rank.Options) (err error) {
	r := rank.New(o)
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

// work does what the job is about.
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
