package worker

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// poison fills an output before a call, so that elements that nobody wrote are
// seen. As a float of any type it is not a number; as an integer it is -1 or the
// largest, which a result is now and then, but not everywhere.
const poison = 0xff

// prepare poisons what the call writes to, and then writes its inputs, which in
// place lie there.
func (r *rank) prepare(ctx context.Context, t trial) error {
	call, size := r.place(t.Case), t.RecvBytes()
	whole := call.Recv
	if t.InPlace {
		whole, size = min(call.Send, call.Recv), t.Bytes()
	}
	if err := r.stream.Fill(r.comm.Local(whole), poison, size); err != nil {
		return fmt.Errorf("poisoning the output: %w", err)
	}
	err := r.upload(ctx, t.in, call.Send, t.SendCount(), func(in reference.Input, dst []byte) { in.Fill(dst, r.Rank) })
	if err != nil {
		return fmt.Errorf("uploading the input: %w", err)
	}
	if err := r.prepareEpilogue(ctx, t, call); err != nil {
		return fmt.Errorf("preparing the epilogue: %w", err)
	}
	return nil
}

// prepareEpilogue writes the row and the residual, and poisons what gets the
// sums with the residual added.
func (r *rank) prepareEpilogue(ctx context.Context, t trial, call collective.Call) error {
	e, known := call.Epilogue, t.epilogue()
	if e.Kind != collective.Bias && e.Kind != collective.RMSNorm {
		return nil
	}
	err := r.upload(ctx, t.in, e.Weight, e.Row, func(in reference.Input, dst []byte) {
		known.In = in
		known.FillWeight(dst)
	})
	if err != nil || e.Kind != collective.RMSNorm {
		return err
	}
	if err := r.stream.Fill(r.comm.Local(e.ResidualOut), poison, call.Bytes()); err != nil {
		return err
	}
	return r.upload(ctx, t.in, e.Residual, call.Count, func(in reference.Input, dst []byte) {
		known.In = in
		known.FillResidual(dst)
	})
}

// upload writes count elements, made in chunks by fill, to the memory at an
// offset.
func (r *rank) upload(ctx context.Context, in reference.Input, to, count int64, fill func(in reference.Input, dst []byte)) error {
	return r.inChunks(ctx, in, count, func(in reference.Input, at int64) error {
		fill(in, r.buffers.input)
		return r.stream.Upload(r.comm.Local(to+at), r.buffers.input)
	})
}

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

// inChunks calls do for one chunk after the other of count elements, of which in
// describes the first. It gets the chunk's inputs and its offset in bytes. The host
// buffers are then as long as the chunk.
func (r *rank) inChunks(ctx context.Context, in reference.Input, count int64, do func(in reference.Input, at int64) error) error {
	size := int64(in.DType.Size)
	first := in.First
	for at := int64(0); at < count*size; at += chunkBytes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.alive(); err != nil {
			return err
		}
		r.buffers.resize(min(chunkBytes, count*size-at))
		in.First = first + at/size
		if err := do(in, at); err != nil {
			return err
		}
	}
	return nil
}
