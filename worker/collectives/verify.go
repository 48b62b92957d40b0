package collectives

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/result/phases"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// trial is a call that is verified.
type trial struct {
	workload.Case
	in   reference.Input // of all ranks
	when string
}

// newTrial says what the inputs of a case are.
func (r *run) newTrial(c workload.Case, seed uint64, pattern reference.Pattern, when string) trial {
	in := reference.Input{Seed: seed, Pattern: pattern, DType: c.Call.DType, Op: c.Call.Op, World: r.World}
	if d := c.Call.DType; c.Algorithm.Needs.Multicast && d.Kind == collective.FloatingPoint && d.Size == 1 {
		in.Accumulator = collective.Half
	}
	in.Stepwise = c.Algorithm.Needs.Library != "" || c.Algorithm.Stepwise
	in.ScalesInputs = in.Stepwise && (c.Algorithm.Needs.Library != "" || c.Algorithm.File != "")
	if d := c.Algorithm.Accumulator; d != nil {
		in.Accumulator = *d
	}
	in.Ordered, in.Chain, in.Root = c.Algorithm.AddsInOrder(), c.Algorithm.Chain, c.Call.Root
	return trial{c, in, when}
}

// epilogue is what the reference knows of the call's epilogue.
func (t trial) epilogue() reference.Epilogue {
	e := t.Call.Epilogue
	return reference.Epilogue{In: t.in, Kind: e.Kind, Row: e.Row, Scale: e.Scale, Epsilon: e.Epsilon}
}

// verify runs the case once and adds what is wrong to m.
func (r *run) verify(ctx context.Context, m *measure.Measurement, t trial, submit func() error) error {
	if !r.job.Verify {
		return nil
	}
	r.Status.Begin(phases.Verify)
	if err := r.Status.Announce("verifying %s, %s", t, t.when); err != nil {
		return err
	}
	if err := reference.Check(t.Call.DType); err != nil {
		return err
	}
	if t.Shape.Empty {
		return r.verifyBarrier(ctx, m, t, submit)
	}
	if t.Algorithm.Custom != nil {
		return r.verifyCustom(ctx, m, t, submit)
	}
	if err := r.prepareInTime(ctx, t); err != nil {
		return err
	}
	if err := submit(); err != nil {
		return err
	}
	if err := r.finish(ctx, t.Case); err != nil {
		return err
	}
	if err := r.checkRestored(ctx, t); err != nil {
		return err
	}
	corrupted, err := r.corrupt(t)
	if err != nil {
		return err
	}
	before := m.Wrong()
	if err := r.compareOutputs(ctx, m, t); err != nil {
		return err
	}
	if corrupted && m.Wrong() == before {
		return verify.ErrCorruptionMissed
	}
	return r.spoilInput(ctx, t)
}

// prepareInTime prepares the buffers. A rank that is to be late is so before it writes to them: a
// peer that does not wait then reads old inputs. Where all ranks meet when their buffers are
// prepared, it is late after that.
func (r *run) prepareInTime(ctx context.Context, t trial) error {
	late, meets := r.job.SkewOf(r.ID), r.meetsPrepared(t.Case)
	if !meets {
		if err := verify.BeLate(ctx, late); err != nil {
			return err
		}
	}
	if err := r.prepare(ctx, t); err != nil || !meets {
		return err
	}
	if err := r.meetPrepared(ctx, t.Case); err != nil {
		return err
	}
	return verify.BeLate(ctx, late)
}

// spoilInput overwrites the input of a call that has ended here, if a rank is late: a peer may not
// read it any more.
func (r *run) spoilInput(ctx context.Context, t trial) error {
	if len(r.job.Skew) == 0 || t.InPlace {
		return nil
	}
	t.in.Seed = spoiledSeed(t.in.Seed)
	return r.uploadInput(ctx, t)
}

// meetsPrepared reports whether the ranks meet between the preparation of buffers and the call: for
// a library that writes into its peers' memory before they have made their calls. A peer would
// poison the result.
func (r *run) meetsPrepared(c workload.Case) bool {
	l := r.Libraries.Get(libraryOf(c))
	return l != nil && l.HasHeap()
}

// meetPrepared waits until all ranks have prepared their buffers.
func (r *run) meetPrepared(ctx context.Context, c workload.Case) error {
	if err := r.Synchronize(ctx); err != nil {
		return err
	}
	if err := r.meet(ctx, c); err != nil {
		return fmt.Errorf("waiting for the peers to prepare their buffers: %w", err)
	}
	return nil
}

// compareOutputs adds what is wrong with the results of a call to m.
func (r *run) compareOutputs(ctx context.Context, m *measure.Measurement, t trial) error {
	v, err := r.compare(ctx, t)
	if err != nil {
		return err
	}
	r.note(m, t, v, t.RecvCount())
	if t.Call.Epilogue.Kind != collective.RMSNorm {
		return nil
	}
	if v, err = r.compareResidualOut(ctx, t); err != nil {
		return err
	}
	t.when += ", in the sums with the residual"
	r.note(m, t, v, t.Call.Count)
	return nil
}

// note adds what is wrong with an output of so many elements to m.
func (r *run) note(m *measure.Measurement, t trial, v reference.Verdict, elements int64) {
	m.Mismatches = append(m.Mismatches, verify.Describe(v, r.ID, t.when, elements, t.in.DType.Size)...)
}

// corrupt flips the lowest bit of one byte of the output, if that is to be injected and the
// output is that long, and reports whether it did. Where results need not match to the bit,
// it flips the sign of the element instead.
func (r *run) corrupt(t trial) (done bool, err error) {
	offset, ok := r.faults.TakeCorruption(t.OutputBytes(r.ID))
	if !ok {
		return false, nil
	}
	mask := byte(1)
	if size := int64(t.Call.DType.Size); t.Call.Epilogue.Kind == collective.RMSNorm {
		offset, mask = offset/size*size+size-1, 0x80
	}
	at := r.Comm.Local(r.place(t.Case).Recv) + cudart.DevicePtr(offset)
	return true, verify.Corrupt(r.Stream, at, mask)
}
