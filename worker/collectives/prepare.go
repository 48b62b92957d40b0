package collectives

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/verify"
)

// prepare poisons the memory that the call writes to, and then writes the inputs. In place, the
// inputs are in the poisoned memory.
func (r *run) prepare(ctx context.Context, t trial) error {
	call := r.place(t.Case)
	buffers := r.buffers(t)
	for _, b := range buffers {
		if err := r.staging.Guard(b); err != nil {
			return err
		}
	}
	if err := r.Stream.Fill(buffers[0].At, verify.Poison, buffers[0].Bytes); err != nil {
		return fmt.Errorf("poisoning the output: %w", err)
	}
	if err := r.uploadInput(ctx, t); err != nil {
		return err
	}
	if err := r.prepareEpilogue(ctx, t, call); err != nil {
		return fmt.Errorf("preparing the epilogue: %w", err)
	}
	return nil
}

// buffers are those of the call: the output first, which is also the input in place.
func (r *run) buffers(t trial) []verify.Buffer {
	call := r.place(t.Case)
	all := []verify.Buffer{
		{Name: "the output", At: r.Comm.Local(call.Recv), Bytes: t.RecvBytes()},
		{Name: "the input", At: r.Comm.Local(call.Send), Bytes: t.SendCount() * int64(t.in.DType.Size)},
	}
	if t.InPlace {
		all = []verify.Buffer{{Name: "the buffer", At: r.Comm.Local(min(call.Send, call.Recv)), Bytes: t.Bytes()}}
	}
	if e := call.Epilogue; e.Kind == collective.RMSNorm {
		all = append(all, verify.Buffer{
			Name: "the sums with the residual", At: r.Comm.Local(e.ResidualOut), Bytes: call.Bytes(),
		})
	}
	return append(all, r.staging.Areas(t.Algorithm)...)
}

// uploadInput writes the rank's input.
func (r *run) uploadInput(ctx context.Context, t trial) error {
	err := r.upload(ctx, t, r.place(t.Case).Send, t.SendCount(), func(in reference.Input, dst []byte) {
		in.Fill(dst, r.ID)
	})
	if err != nil {
		return fmt.Errorf("uploading the input: %w", err)
	}
	return nil
}

// prepareEpilogue writes the row and the residual, and poisons the output of the sums with the
// residual added.
func (r *run) prepareEpilogue(ctx context.Context, t trial, call collective.Call) error {
	if call.Epilogue.Kind == collective.RMSNorm {
		if err := r.Stream.Fill(r.Comm.Local(call.Epilogue.ResidualOut), verify.Poison, call.Bytes()); err != nil {
			return err
		}
	}
	for _, in := range t.epilogueInputs(call) {
		if err := r.upload(ctx, t, in.at, in.count, in.fill); err != nil {
			return err
		}
	}
	return nil
}

// epilogueInput is an input of an epilogue: where it lies, and the function that makes its elements.
type epilogueInput struct {
	name      string
	at, count int64
	fill      func(in reference.Input, dst []byte)
}

func (t trial) epilogueInputs(call collective.Call) (all []epilogueInput) {
	e, known := call.Epilogue, t.epilogue()
	if e.Kind == collective.Bias || e.Kind == collective.RMSNorm {
		all = append(all, epilogueInput{"the row of the epilogue", e.Weight, e.Row, func(in reference.Input, dst []byte) {
			known.In = in
			known.FillWeight(dst)
		}})
	}
	if e.Kind == collective.RMSNorm {
		all = append(all, epilogueInput{"the residual", e.Residual, call.Count, func(in reference.Input, dst []byte) {
			known.In = in
			known.FillResidual(dst)
		}})
	}
	return all
}

// upload writes count elements to the memory at an offset. fill makes them in chunks, from
// the trial's inputs at the chunk.
func (r *run) upload(ctx context.Context, t trial, to, count int64, fill func(in reference.Input, dst []byte)) error {
	return r.staging.Upload(ctx, r.Comm.Local(to), count*int64(t.in.DType.Size), func(dst []byte, at int64) {
		fill(inputAt(t.in, at), dst)
	})
}

// inputAt is the input whose first element lies so many bytes behind that of in.
func inputAt(in reference.Input, at int64) reference.Input {
	in.First += at / int64(in.DType.Size)
	return in
}
