package collectives

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/verify"
)

// compare compares every element of the output with the reference. It fails
// when a call wrote to what it must not write.
func (r *run) compare(ctx context.Context, t trial) (reference.Verdict, error) {
	var all reference.Verdict
	call := r.place(t.Case)
	var covered int64
	for _, s := range t.Output(r.ID) {
		v, err := r.compareSegment(ctx, t, call.Recv, s)
		if err != nil {
			return all, err
		}
		all = all.Merge(v)
		covered += s.Count
	}
	if covered != t.RecvCount() {
		return all, fmt.Errorf("the reference for %s covers %d of %d elements", t.Algorithm.Collective, covered,
			t.RecvCount())
	}
	return all, r.compareUntouched(ctx, t, call)
}

// compareUntouched compares what a call must not write: its inputs, and the memory around its buffers.
func (r *run) compareUntouched(ctx context.Context, t trial, call collective.Call) error {
	inputs := t.epilogueInputs(call)
	if !t.InPlace {
		inputs = append(inputs, epilogueInput{"the input", call.Send, t.SendCount(), func(in reference.Input, dst []byte) {
			in.Fill(dst, r.ID)
		}})
	}
	for _, x := range inputs {
		bytes := x.count * int64(t.in.DType.Size)
		err := r.staging.Compare(ctx, x.name, r.Comm.Local(x.at), bytes, func(dst []byte, at int64) {
			x.fill(inputAt(t.in, at), dst)
		})
		if err != nil {
			return err
		}
	}
	return r.checkAround(r.buffers(t))
}

// checkAround checks that the memory around buffers has not changed.
func (r *run) checkAround(buffers []verify.Buffer) error {
	for _, b := range buffers {
		if err := r.staging.CheckGuards(b); err != nil {
			return err
		}
	}
	return nil
}

// compareResidualOut compares the sums with the residual added.
func (r *run) compareResidualOut(ctx context.Context, t trial) (reference.Verdict, error) {
	known, call := t.epilogue(), r.place(t.Case)
	return r.compareElements(ctx, t.in, call.Epilogue.ResidualOut, call.Count,
		func(in reference.Input, got []byte) reference.Verdict {
			known.In = in
			return known.ResidualOut(got)
		})
}

// compareSegment compares a segment of the output that begins at an offset. The
// verdict's index is that of the output.
func (r *run) compareSegment(ctx context.Context, t trial, output int64,
	s reference.Segment,
) (reference.Verdict, error) {
	in, size := t.in, t.Call.DType.Size
	in.First = s.First
	v, err := r.compareElements(ctx, in, output+s.At*int64(size), s.Count,
		func(in reference.Input, got []byte) reference.Verdict {
			known := t.epilogue()
			known.In = in
			switch {
			case s.Source == reference.Reduced:
				return known.Result(got)
			case s.Source == reference.Copied:
				return in.From(s.From, got)
			}
			v := reference.Filled(got, size, verify.Poison)
			v.First += in.First
			return v
		})
	v.First += s.At - s.First
	return v, err
}

// compareElements judges count elements of the memory at an offset. in describes the first
// of them; judge gets a chunk and the input that describes its first element.
func (r *run) compareElements(ctx context.Context, in reference.Input, from, count int64,
	judge func(in reference.Input, got []byte) reference.Verdict,
) (all reference.Verdict, err error) {
	bytes := count * int64(in.DType.Size)
	err = r.staging.Download(ctx, "the output", r.Comm.Local(from), bytes, func(got []byte, at int64) {
		all = all.Merge(judge(inputAt(in, at), got))
	})
	return all, err
}
