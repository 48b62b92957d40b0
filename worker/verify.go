package worker

import (
	"bytes"
	"context"
	"fmt"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// poison fills an output before a call, so that an element that nobody wrote
// is seen. As a float of any type it is not a number.
const poison = 0xff

// hostBuffers are kept between cases.
type hostBuffers struct{ input, output, inputAfter []byte }

// resize makes the buffers n bytes long. Their contents are undefined.
func (b *hostBuffers) resize(n int64) {
	for _, buf := range []*[]byte{&b.input, &b.output, &b.inputAfter} {
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
	in := reference.Input{Seed: r.Job.Seed, Pattern: pattern, DType: c.dtype, World: r.WorldSize}
	got, err := r.runOnce(ctx, c, submit, in)
	if err != nil {
		return err
	}
	v := in.AllReduceSum(got)
	if v.Wrong > 0 {
		m.Mismatches = append(m.Mismatches, result.Mismatch{
			Rank: r.Rank, Wrong: v.Wrong, Index: v.First, Phase: when,
			Want: hexBits(v.Want, c.dtype.Size), Got: hexBits(v.Got, c.dtype.Size),
		})
	}
	return nil
}

// runOnce fills the input, poisons the output, makes one call, and returns the
// output.
func (r *rank) runOnce(ctx context.Context, c testCase, submit func() error, in reference.Input) ([]byte, error) {
	r.buffers.resize(c.bytes())
	input, output := r.buffers.input, r.buffers.output
	in.Fill(input, r.Rank)
	call := r.call(c)
	if err := r.stream.Upload(r.comm.Local(call.Send), input); err != nil {
		return nil, fmt.Errorf("uploading the input: %w", err)
	}
	if !c.inPlace {
		if err := r.stream.Fill(r.comm.Local(call.Recv), poison, c.bytes()); err != nil {
			return nil, fmt.Errorf("poisoning the output: %w", err)
		}
	}
	if err := submit(); err != nil {
		return nil, err
	}
	if err := r.synchronize(ctx); err != nil {
		return nil, err
	}
	if err := r.injectCorruption(call.Recv, c.bytes()); err != nil {
		return nil, err
	}
	if err := r.stream.Download(output, r.comm.Local(call.Recv)); err != nil {
		return nil, fmt.Errorf("downloading the output: %w", err)
	}
	if !c.inPlace {
		return output, r.inputIsIntact(call.Send)
	}
	return output, nil
}

// inputIsIntact fails when an out-of-place call wrote to its input.
func (r *rank) inputIsIntact(at int64) error {
	if err := r.stream.Download(r.buffers.inputAfter, r.comm.Local(at)); err != nil {
		return fmt.Errorf("downloading the input: %w", err)
	}
	if !bytes.Equal(r.buffers.inputAfter, r.buffers.input) {
		return errInputChanged
	}
	return nil
}

// hexBits prints the bits of an element of size bytes.
func hexBits(bits uint32, size int) string { return fmt.Sprintf("0x%0*x", 2*size, bits) }
