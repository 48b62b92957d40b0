package worker

import (
	"bytes"
	"context"
	"fmt"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// poison fills an output before a call, so that elements that nobody wrote are
// seen. As a float of any type it is not a number; as an integer it is -1 or the
// largest, which a result is now and then, but not everywhere.
const poison = 0xff

// chunkBytes is how much of a buffer passes through the host at a time, a
// multiple of every element's size: what verification takes of the host's memory
// does not depend on the size of the call.
const chunkBytes = 16 << 20

// hostBuffers are kept between cases.
type hostBuffers struct{ input, output []byte }

// resize makes the buffers n bytes long. Their contents are undefined.
func (b *hostBuffers) resize(n int64) {
	for _, buf := range []*[]byte{&b.input, &b.output} {
		if int64(cap(*buf)) < n {
			*buf = make([]byte, n)
		}
		*buf = (*buf)[:n]
	}
}

// verifyInto runs the case once and adds what is wrong to m.
func (r *rank) verifyInto(ctx context.Context, m *measurement, c testCase, submit func() error, pattern reference.Pattern, when string) error {
	if !r.Job.Verify {
		return nil
	}
	if err := r.phase("verifying %s, %s", c, when); err != nil {
		return err
	}
	in := reference.Input{Seed: r.Job.Seed, Pattern: pattern, DType: c.dtype, Op: c.op, World: r.WorldSize}
	if err := r.runOnce(ctx, c, submit, in); err != nil {
		return err
	}
	v, err := r.compare(ctx, c, in)
	if err != nil {
		return err
	}
	if v.Wrong > 0 {
		m.Mismatches = append(m.Mismatches, result.Mismatch{
			Rank: r.Rank, Wrong: v.Wrong, Index: v.First, Phase: when,
			Want: hexBits(v.Want, c.dtype.Size), Got: hexBits(v.Got, c.dtype.Size),
		})
	}
	return nil
}

// runOnce fills the input, poisons the output, and makes one call.
func (r *rank) runOnce(ctx context.Context, c testCase, submit func() error, in reference.Input) error {
	call := r.call(c)
	err := r.inChunks(ctx, c, in, func(in reference.Input, at int64) error {
		in.Fill(r.buffers.input, r.Rank)
		if err := r.stream.Upload(r.comm.Local(call.Send+at), r.buffers.input); err != nil {
			return fmt.Errorf("uploading the input: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !c.inPlace {
		if err := r.stream.Fill(r.comm.Local(call.Recv), poison, c.bytes()); err != nil {
			return fmt.Errorf("poisoning the output: %w", err)
		}
	}
	if err := submit(); err != nil {
		return err
	}
	if err := r.synchronize(ctx); err != nil {
		return err
	}
	return r.injectCorruption(call.Recv, c.bytes())
}

// compare compares every element of the output with the reference. It fails
// when an out-of-place call wrote to its input.
func (r *rank) compare(ctx context.Context, c testCase, in reference.Input) (reference.Verdict, error) {
	var all reference.Verdict
	call := r.call(c)
	err := r.inChunks(ctx, c, in, func(in reference.Input, at int64) error {
		output := r.buffers.output
		if err := r.stream.Download(output, r.comm.Local(call.Recv+at)); err != nil {
			return fmt.Errorf("downloading the output: %w", err)
		}
		all = all.Merge(in.AllReduce(output))
		if c.inPlace {
			return nil
		}
		return r.inputIsIntact(in, call.Send+at)
	})
	return all, err
}

// inputIsIntact compares a chunk of the input with what was uploaded.
func (r *rank) inputIsIntact(in reference.Input, at int64) error {
	in.Fill(r.buffers.input, r.Rank)
	if err := r.stream.Download(r.buffers.output, r.comm.Local(at)); err != nil {
		return fmt.Errorf("downloading the input: %w", err)
	}
	if !bytes.Equal(r.buffers.output, r.buffers.input) {
		return errInputChanged
	}
	return nil
}

// inChunks calls do for one chunk of the case's buffers after the other, with
// the chunk's inputs and its offset in bytes. The host buffers are then as long as
// the chunk.
func (r *rank) inChunks(ctx context.Context, c testCase, in reference.Input, do func(in reference.Input, at int64) error) error {
	for at := int64(0); at < c.bytes(); at += chunkBytes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.alive(); err != nil {
			return err
		}
		r.buffers.resize(min(chunkBytes, c.bytes()-at))
		in.First = at / int64(c.dtype.Size)
		if err := do(in, at); err != nil {
			return err
		}
	}
	return nil
}

// hexBits prints the bits of an element of size bytes.
func hexBits(bits uint64, size int) string { return fmt.Sprintf("0x%0*x", 2*size, bits) }
