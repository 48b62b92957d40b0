package collectives

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/verify"
)

// verifyCustom runs a call that a kernel file describes on its own, and compares its outputs with what the file
// expects.
func (r *run) verifyCustom(ctx context.Context, m *measure.Measurement, t trial, submit func() error) error {
	buffers, err := t.Algorithm.Custom.Buffers(r.Comm, r.place(t.Case))
	if err != nil {
		return err
	}
	number := t.Algorithm.Custom.Next(r.Comm)
	if err := r.prepareCustom(ctx, t, buffers); err != nil {
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
	corrupted, err := r.corruptCustom(t, buffers)
	if err != nil {
		return err
	}
	before := m.Wrong()
	if err := r.compareCustom(ctx, m, t, number, buffers); err != nil {
		return err
	}
	if corrupted && m.Wrong() == before {
		return verify.ErrCorruptionMissed
	}
	return nil
}

// customInput makes the content of an input of a rank. Each buffer has other numbers.
func (r *run) customInput(t trial, buffers []collective.CustomBuffer, buffer, rank int) ([]byte, error) {
	b := buffers[buffer]
	if b.Fixed != nil {
		content, err := b.Fixed(rank)
		if err == nil && int64(len(content)) != b.Bytes {
			err = fmt.Errorf("the input %s of rank %d has %d bytes, and its file %d", b.Name, rank, b.Bytes, len(content))
		}
		return content, err
	}
	in := t.in
	in.DType, in.Op, in.First = b.DType, collective.Sum, int64(buffer)<<40
	content := make([]byte, b.Bytes)
	in.Fill(content, rank)
	return content, nil
}

// prepareCustom poisons the outputs and writes the inputs. A rank that is to be late is so before that.
func (r *run) prepareCustom(ctx context.Context, t trial, buffers []collective.CustomBuffer) error {
	for _, b := range r.customAreas(t, buffers) {
		if err := r.staging.Guard(b); err != nil {
			return err
		}
	}
	if rotate(buffers) {
		return r.prepareCopies(ctx, t, buffers)
	}
	if err := verify.BeLate(ctx, r.job.SkewOf(r.ID)); err != nil {
		return err
	}
	if err := r.poisonOutputs(buffers); err != nil {
		return err
	}
	return r.uploadInputs(t, buffers)
}

// customAreas are the buffers of the file, around which no call may write. An input or an output is as long as this
// call has it, though a larger call may have more of the same memory.
func (r *run) customAreas(t trial, buffers []collective.CustomBuffer) []verify.Buffer {
	all := r.staging.Areas(t.Algorithm)
	for i := range all {
		for _, b := range buffers {
			if all[i].At == r.Comm.Local(b.Copies[0]) {
				all[i].Bytes = b.Bytes
			}
		}
	}
	return all
}

// compareCustom compares all outputs of the call of a number with what the file expects, and all inputs with what they
// were.
func (r *run) compareCustom(ctx context.Context, m *measure.Measurement, t trial, number int64,
	buffers []collective.CustomBuffer,
) error {
	call, custom := r.place(t.Case), t.Algorithm.Custom
	inputs := func(buffer, rank int) ([]byte, error) { return r.customInput(t, buffers, buffer, rank) }
	expected, err := custom.Expect(r.Comm, r.Stream, call, number, inputs)
	if err != nil {
		return fmt.Errorf("computing the expected outputs: %w", err)
	}
	tolerance, err := custom.Tolerance(r.Comm, call)
	if err != nil {
		return err
	}
	for i, b := range buffers {
		if !b.Output {
			continue
		}
		v, err := r.compareOutput(ctx, b, expected[i], tolerance)
		if err != nil {
			return err
		}
		wrong := verify.Describe(v, r.ID, t.when+", in "+b.Name, b.Bytes/int64(b.DType.Size), b.DType.Size)
		e := reference.ExcessOf(b.DType, v, tolerance)
		for j := range wrong {
			wrong[j].WantValue, wrong[j].GotValue, wrong[j].Bound = e.Want, e.Got, e.Bound
		}
		m.Mismatches = append(m.Mismatches, wrong...)
	}
	if err := r.compareInputs(ctx, t, buffers); err != nil {
		return err
	}
	return r.checkAround(r.customAreas(t, buffers))
}

// compareOutput compares the copy of an output that the call has used with what it must be, and the others with poison.
func (r *run) compareOutput(ctx context.Context, b collective.CustomBuffer, want []byte,
	tolerance collective.Tolerance,
) (v reference.Verdict, err error) {
	err = r.staging.Download(ctx, b.Name, r.Comm.Local(b.Offset()), b.Bytes, func(got []byte, at int64) {
		v = v.Merge(reference.Values(b.DType, got, want[at:][:len(got)], at/int64(b.DType.Size), tolerance))
	})
	if err != nil {
		return v, err
	}
	return v, r.compareIdle(ctx, b)
}

// corruptCustom flips a bit of the first output, if that is to be injected.
func (r *run) corruptCustom(t trial, buffers []collective.CustomBuffer) (bool, error) {
	for _, b := range buffers {
		if !b.Output {
			continue
		}
		offset, ok := r.faults.TakeCorruption(b.Bytes)
		if !ok {
			return false, nil
		}
		// The sign and the uppermost bit of the exponent: a float changes by at least 2, which no usual tolerance hides.
		size := int64(b.DType.Size)
		offset = offset/size*size + size - 1
		return true, verify.Corrupt(r.Stream, r.Comm.Local(b.Offset()+offset), 0xc0)
	}
	return false, nil
}
