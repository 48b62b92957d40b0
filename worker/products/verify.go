package products

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/reference"
	"gpurun/worker/result/phases"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// trial is a product that is verified.
type trial struct {
	*candidate
	in   reference.Product
	when string
}

// verify makes one call and adds what is wrong to the candidate's measurement.
func (p *run) verify(ctx context.Context, c *candidate, pattern reference.Pattern, when string) error {
	if !p.job.Verify {
		return nil
	}
	p.Status.Begin(phases.Verify)
	if err := p.Status.Announce("verifying %s, %s", c, when); err != nil {
		return err
	}
	if err := reference.Check(c.Problem.DType); err != nil {
		return err
	}
	p.trials++ // new inputs each time: a result left from another call is then wrong
	t := trial{c, c.Input(p.job.Seed+p.trials, pattern, p.World), when}
	if err := p.fill(ctx, t); err != nil {
		return err
	}
	// Kernels that overlap with others' may read inputs before any barrier.
	if err := p.meet(ctx, "inputs", c); err != nil {
		return err
	}
	if err := verify.BeLate(ctx, p.job.SkewOf(p.ID)); err != nil {
		return err
	}
	if err := p.enqueue(c); err != nil {
		return err
	}
	if err := p.Finish(ctx, workOf(c), nil); err != nil {
		return err
	}
	if err := p.checkRestored(ctx, t); err != nil {
		return err
	}
	corrupted, err := p.corrupt(t)
	if err != nil {
		return err
	}
	before := c.Wrong()
	if err := p.compare(ctx, t); err != nil {
		return err
	}
	if corrupted && c.Wrong() == before {
		return verify.ErrCorruptionMissed
	}
	return nil
}

// fill poisons what the call writes to, and writes its inputs.
func (p *run) fill(ctx context.Context, t trial) error {
	b := t.Operation.Buffers(t.Problem, p.World)
	staging := workload.Required(t.Algorithm.Staging, t.Problem, p.World)
	for _, b := range p.buffers(t) {
		if err := p.staging.Guard(b); err != nil {
			return err
		}
	}
	for _, x := range []struct{ at, bytes int64 }{{t.call.AFull, b.AFull}, {t.call.C, b.C}, {t.call.Staging, staging}} {
		if err := p.Stream.Fill(p.Comm.Local(x.at), verify.Poison, x.bytes); err != nil {
			return fmt.Errorf("poisoning the outputs: %w", err)
		}
	}
	for _, x := range []struct {
		at, bytes int64
		fill      func(dst []byte, rank int, first int64)
	}{{t.call.A, b.A, t.in.FillA}, {t.call.B, b.B, t.in.FillB}} {
		fill := func(dst []byte, first int64) { x.fill(dst, p.ID, first) }
		if err := p.upload(ctx, t, x.at, x.bytes, fill); err != nil {
			return fmt.Errorf("uploading the inputs: %w", err)
		}
	}
	if !t.GatheredIsInput() {
		return nil
	}
	gathered := func(dst []byte, first int64) { t.in.FillTermA(dst, p.ID, 0, first) }
	if err := p.upload(ctx, t, t.call.AFull, b.AFull, gathered); err != nil {
		return fmt.Errorf("uploading the gathered A: %w", err)
	}
	return nil
}

// buffers are the matrices of the call that the operation has, and the algorithm's own memory.
func (p *run) buffers(t trial) (all []verify.Buffer) {
	b := t.Operation.Buffers(t.Problem, p.World)
	for _, x := range []struct {
		name      string
		at, bytes int64
	}{
		{"A", t.call.A, b.A}, {"the gathered A", t.call.AFull, b.AFull}, {"B", t.call.B, b.B}, {"C", t.call.C, b.C},
	} {
		if x.bytes > 0 {
			all = append(all, verify.Buffer{Name: x.name, At: p.Comm.Local(x.at), Bytes: x.bytes})
		}
	}
	return append(all, p.staging.Areas(t.Algorithm)...)
}

// checkRestored compares the areas that a call must leave as they were with their initial values.
func (p *run) checkRestored(ctx context.Context, t trial) error {
	return p.staging.CheckRestored(ctx, t.Algorithm, t.Algorithm.Restored, func(area int, dst []byte, at int64) error {
		return t.Algorithm.Initial(p.runner, t.call, area, dst, at)
	})
}

// upload writes so many bytes of elements, which fill makes. It gets the number of the first.
func (p *run) upload(ctx context.Context, t trial, to, bytes int64, fill func(dst []byte, first int64)) error {
	size := int64(t.Problem.DType.Size)
	return p.staging.Upload(ctx, p.Comm.Local(to), bytes, func(dst []byte, at int64) { fill(dst, at/size) })
}

// corrupt flips a bit of the result, if that is to be injected.
func (p *run) corrupt(t trial) (bool, error) {
	offset, ok := p.faults.TakeCorruption(t.Operation.Buffers(t.Problem, p.World).C)
	if !ok {
		return false, nil
	}
	return true, verify.Corrupt(p.Stream, p.Comm.Local(t.ResultAt(t.call))+cudart.DevicePtr(offset), 1)
}
