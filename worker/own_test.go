package worker

import (
	"context"
	"encoding/binary"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/worker/collectives"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// runOwn is Run with an algorithm that is in no catalog.
func runOwn(ctx context.Context, o rank.Options, own *collective.Algorithm) (err error) {
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
	if err := r.ChooseAlgorithms(&plan, caps); err != nil {
		return err
	}
	if own.Needs.SeparateOutput {
		plan.Cases = slices.DeleteFunc(plan.Cases, func(c workload.Case) bool { return c.InPlace })
	}
	for i := range plan.Cases {
		plan.Cases[i].Algorithm = own
	}
	layout, err := r.ShareMemory(ctx, &plan, &caps)
	if err != nil {
		return err
	}
	if err := r.Connect(ctx, plan, caps, layout); err != nil {
		return err
	}
	if err := collectives.Run(ctx, r, o.Job, plan, layout); err != nil {
		return err
	}
	return r.Leave(ctx)
}

// launchOwn launches the kernel of an algorithm's only module, with words as its parameters.
func launchOwn(c *collective.Comm, s cudart.Stream, a *collective.Algorithm, shape cudart.Launch,
	words ...uint64,
) error {
	k, err := c.Load(a.Kernels[0])
	if err != nil {
		return err
	}
	var params []byte
	for _, w := range words {
		params = binary.LittleEndian.AppendUint64(params, w)
	}
	return s.Launch(k, shape, params)
}

// kernelOf is the kernel of that name, for sums, in a module of that name.
func kernelOf(name string) collective.Kernel {
	return collective.Kernel{
		Module: collective.Module{Name: name + ".ptx", Arch: collective.SM80}, Entry: name, Any: true, Op: collective.Sum,
	}
}
