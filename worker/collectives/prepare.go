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
	call, size := r.place(t.Case), t.RecvBytes()
	whole := call.Recv
	if t.InPlace {
		whole, size = min(call.Send, call.Recv), t.Bytes()
	}
	if err := r.Stream.Fill(r.Comm.Local(whole), verify.Poison, size); err != nil {
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
	e, known := call.Epilogue, t.epilogue()
	if e.Kind != collective.Bias && e.Kind != collective.RMSNorm {
		return nil
	}
	err := r.upload(ctx, t, e.Weight, e.Row, func(in reference.Input, dst []byte) {
		known.In = in
		known.FillWeight(dst)
	})
	if err != nil || e.Kind != collective.RMSNorm {
		return err
	}
	if err := r.Stream.Fill(r.Comm.Local(e.ResidualOut), verify.Poison, call.Bytes()); err != nil {
		return err
	}
	return r.upload(ctx, t, e.Residual, call.Count, func(in reference.Input, dst []byte) {
		known.In = in
		known.FillResidual(dst)
	})
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
