package worker

import (
	"bytes"
	"context"
	"fmt"

	"gpurun/kernels/reference"
)

// compare compares every element of the output with the reference. It fails
// when an out-of-place call wrote to its input.
func (r *rank) compare(ctx context.Context, t trial) (reference.Verdict, error) {
	var all reference.Verdict
	call := r.place(t.Case)
	var covered int64
	for _, s := range t.Output(r.Rank) {
		v, err := r.compareSegment(ctx, t, call.Recv, s)
		if err != nil {
			return all, err
		}
		all = all.Merge(v)
		covered += s.Count
	}
	if covered != t.RecvCount() {
		return all, fmt.Errorf("the reference for %s covers %d of %d elements", t.Algorithm.Collective, covered, t.RecvCount())
	}
	if t.InPlace {
		return all, nil
	}
	return all, r.inputIsIntact(ctx, t, call.Send)
}

// compareResidualOut compares the sums with the residual added.
func (r *rank) compareResidualOut(ctx context.Context, t trial) (reference.Verdict, error) {
	known, call := t.epilogue(), r.place(t.Case)
	return r.compareChunks(ctx, t.in, call.Epilogue.ResidualOut, call.Count, func(in reference.Input, got []byte) reference.Verdict {
		known.In = in
		return known.ResidualOut(got)
	})
}

// compareSegment compares a segment of the output that begins at an offset. The
// verdict's index is that of the output.
func (r *rank) compareSegment(ctx context.Context, t trial, output int64, s reference.Segment) (reference.Verdict, error) {
	in, size := t.in, t.Call.DType.Size
	in.First = s.First
	v, err := r.compareChunks(ctx, in, output+s.At*int64(size), s.Count, func(in reference.Input, got []byte) reference.Verdict {
		known := t.epilogue()
		known.In = in
		switch {
		case s.Source == reference.Reduced:
			return known.Result(got)
		case s.Source == reference.Copied:
			return in.From(s.From, got)
		}
		v := reference.Filled(got, size, poison)
		v.First += in.First
		return v
	})
	v.First += s.At - s.First
	return v, err
}

// compareChunks judges count elements of the memory at an offset.
func (r *rank) compareChunks(ctx context.Context, in reference.Input, from, count int64,
	judge func(in reference.Input, got []byte) reference.Verdict,
) (reference.Verdict, error) {
	var all reference.Verdict
	err := r.inChunks(ctx, in, count, func(in reference.Input, at int64) error {
		if err := r.stream.Download(r.buffers.output, r.comm.Local(from+at)); err != nil {
			return fmt.Errorf("downloading the output: %w", err)
		}
		all = all.Merge(judge(in, r.buffers.output))
		return nil
	})
	return all, err
}

// inputIsIntact compares the input with what was uploaded.
func (r *rank) inputIsIntact(ctx context.Context, t trial, from int64) error {
	return r.inChunks(ctx, t.in, t.SendCount(), func(in reference.Input, at int64) error {
		in.Fill(r.buffers.input, r.Rank)
		if err := r.stream.Download(r.buffers.output, r.comm.Local(from+at)); err != nil {
			return fmt.Errorf("downloading the input: %w", err)
		}
		if !bytes.Equal(r.buffers.output, r.buffers.input) {
			return errInputChanged
		}
		return nil
	})
}
