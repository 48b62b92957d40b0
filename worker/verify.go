package worker

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// trial is a call that is verified.
type trial struct {
	workload.Case
	in   reference.Input // of all ranks
	when string
}

// newTrial says what the inputs of a case are.
func (r *rank) newTrial(c workload.Case, pattern reference.Pattern, when string) trial {
	in := reference.Input{Seed: r.Job.Seed, Pattern: pattern, DType: c.Call.DType, Op: c.Call.Op, World: r.WorldSize}
	if d := c.Call.DType; c.Algorithm.Needs.Multicast && d.Kind == collective.FloatingPoint && d.Size == 1 {
		in.Accumulator = collective.Half
	}
	in.Stepwise = c.Algorithm.Needs.Library != ""
	return trial{c, in, when}
}

// epilogue is what the reference knows of the call's epilogue.
func (t trial) epilogue() reference.Epilogue {
	e := t.Call.Epilogue
	return reference.Epilogue{In: t.in, Kind: e.Kind, Row: e.Row, Scale: e.Scale, Epsilon: e.Epsilon}
}

// verifyInto runs the case once and adds what is wrong to m.
func (r *rank) verifyInto(ctx context.Context, m *measurement, t trial, submit func() error) error {
	if !r.Job.Verify {
		return nil
	}
	r.Phases.Begin(phases.Verify)
	if err := r.phase("verifying %s, %s", t, t.when); err != nil {
		return err
	}
	if err := reference.Check(t.Call.DType); err != nil {
		return err
	}
	if t.Shape.Empty {
		return r.verifyBarrier(ctx, m, t, submit)
	}
	if err := r.prepare(ctx, t); err != nil {
		return err
	}
	if err := r.meetPrepared(ctx, t.Case); err != nil {
		return err
	}
	if err := submit(); err != nil {
		return err
	}
	if err := r.settle(ctx, t.Case); err != nil {
		return err
	}
	corrupted, err := r.injectCorruption(t)
	if err != nil {
		return err
	}
	before := m.wrong()
	if err := r.compareInto(ctx, m, t); err != nil {
		return err
	}
	if corrupted && m.wrong() == before {
		return errCorruptionMissed
	}
	return nil
}

// meetPrepared has the ranks wait until all have prepared their buffers, for a library
// that writes into its peers' memory without asking whether they are there: what it
// wrote would be poisoned.
func (r *rank) meetPrepared(ctx context.Context, c workload.Case) error {
	l := r.foreign(c)
	if l == nil || !l.HasHeap() {
		return nil
	}
	if err := r.synchronize(ctx); err != nil {
		return err
	}
	if err := r.meetAfterVerifying(ctx, c); err != nil {
		return fmt.Errorf("waiting for the peers to prepare their buffers: %w", err)
	}
	return nil
}

// compareInto adds what is wrong with the results of a call to m.
func (r *rank) compareInto(ctx context.Context, m *measurement, t trial) error {
	size := t.Call.DType.Size
	v, err := r.compare(ctx, t)
	if err != nil {
		return err
	}
	m.add(r.Rank, t, v, t.RecvCount(), size)
	if t.Call.Epilogue.Kind != collective.RMSNorm {
		return nil
	}
	if v, err = r.compareResidualOut(ctx, t); err != nil {
		return err
	}
	t.when += ", in the sums with the residual"
	m.add(r.Rank, t, v, t.Call.Count, size)
	return nil
}

// add notes what is wrong with a rank's output of so many elements.
func (m *measurement) add(rank int, t trial, v reference.Verdict, elements int64, size int) {
	if v.Wrong == 0 {
		return
	}
	m.Mismatches = append(m.Mismatches, result.Mismatch{
		Rank: rank, Wrong: v.Wrong, Of: elements, Index: v.First, Phase: t.when,
		Want: hexBits(v.Want, size), Got: hexBits(v.Got, size),
	})
}

// hexBits prints the bits of an element of size bytes.
func hexBits(bits uint64, size int) string { return fmt.Sprintf("0x%0*x", 2*size, bits) }
