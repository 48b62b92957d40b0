package worker

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/reference"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// productTrial is a product that is verified.
type productTrial struct {
	*productContestant
	in   reference.Product
	when string
}

// verifyInto makes one call and adds what is wrong to the contestant's measurement.
func (p *productRun) verifyInto(ctx context.Context, c *productContestant, pattern reference.Pattern, when string) error {
	if !p.Job.Verify {
		return nil
	}
	p.Phases.Begin(phases.Verify)
	if err := p.phase("verifying %s, %s", c, when); err != nil {
		return err
	}
	if err := reference.Check(c.Problem.DType); err != nil {
		return err
	}
	p.trials++ // other inputs each time: what another call left behind is no result
	t := productTrial{c, c.Input(p.Job.Seed+p.trials, pattern, p.WorldSize), when}
	if err := p.prepareProduct(ctx, t); err != nil {
		return err
	}
	// Kernels that overlap with others' may look at inputs before any barrier.
	if err := p.meetAfterProduct(ctx, c.ProductCase, "inputs"); err != nil {
		return err
	}
	if err := p.enqueue(c); err != nil {
		return err
	}
	if err := p.finish(ctx, c.Awaited(), nil); err != nil {
		return err
	}
	corrupted, err := p.corruptProduct(t)
	if err != nil {
		return err
	}
	before := c.wrong()
	if err := p.compareProduct(ctx, t); err != nil {
		return err
	}
	if corrupted && c.wrong() == before {
		return errCorruptionMissed
	}
	return nil
}

// prepareProduct poisons what the call writes to, and writes its inputs.
func (p *productRun) prepareProduct(ctx context.Context, t productTrial) error {
	b := t.Operation.Buffers(t.Problem, p.WorldSize)
	staging := workload.Amount(t.Algorithm.Staging, t.Problem, p.WorldSize)
	for _, x := range []struct{ at, bytes int64 }{{t.call.AFull, b.AFull}, {t.call.C, b.C}, {t.call.Staging, staging}} {
		if err := p.stream.Fill(p.comm.Local(x.at), poison, x.bytes); err != nil {
			return fmt.Errorf("poisoning the outputs: %w", err)
		}
	}
	for _, x := range []struct {
		at, bytes int64
		fill      func(dst []byte, rank int, first int64)
	}{{t.call.A, b.A, t.in.FillA}, {t.call.B, b.B, t.in.FillB}} {
		fill := func(dst []byte, first int64) { x.fill(dst, p.Rank, first) }
		if err := p.uploadMatrix(ctx, p.comm.Local(x.at), x.bytes, t.Problem.DType.Size, fill); err != nil {
			return fmt.Errorf("uploading the inputs: %w", err)
		}
	}
	if !t.GatheredIsInput() {
		return nil
	}
	gathered := func(dst []byte, first int64) { t.in.FillTermA(dst, p.Rank, 0, first) }
	if err := p.uploadMatrix(ctx, p.comm.Local(t.call.AFull), b.AFull, t.Problem.DType.Size, gathered); err != nil {
		return fmt.Errorf("uploading the gathered A: %w", err)
	}
	return nil
}

// uploadMatrix writes so many bytes of elements, made in chunks by fill.
func (p *productRun) uploadMatrix(ctx context.Context, to cudart.DevicePtr, bytes int64, size int, fill func(dst []byte, first int64)) error {
	return p.matrixChunks(ctx, bytes, func(at int64) error {
		fill(p.buffers.input, at/int64(size))
		return p.stream.Upload(to+cudart.DevicePtr(at), p.buffers.input)
	})
}

// matrixChunks calls do for one chunk after the other of so many bytes, with its
// offset. The host buffers are then as long as the chunk.
func (p *productRun) matrixChunks(ctx context.Context, bytes int64, do func(at int64) error) error {
	for at := int64(0); at < bytes; at += chunkBytes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.alive(); err != nil {
			return err
		}
		p.buffers.resize(min(chunkBytes, bytes-at))
		if err := do(at); err != nil {
			return err
		}
	}
	return nil
}

// corruptProduct flips a bit of the result, if that is to be injected.
func (p *productRun) corruptProduct(t productTrial) (bool, error) {
	size := t.Operation.Buffers(t.Problem, p.WorldSize).C
	in, ok := p.takeInjection(func(in workload.Injection) bool { return in.Kind == workload.Corrupt && in.Byte < size })
	if !ok {
		return false, nil
	}
	return true, p.flipBit(p.comm.Local(t.ResultAt(t.call) + in.Byte))
}

// flipBit flips the lowest bit of a byte on the device.
func (r *rank) flipBit(at cudart.DevicePtr) error {
	var b [1]byte
	if err := r.stream.Download(b[:], at); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	b[0] ^= 1
	if err := r.stream.Upload(at, b[:]); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	return nil
}

// meetAfterProduct lines the ranks up, of which some may still be verifying a case.
func (p *productRun) meetAfterProduct(ctx context.Context, c workload.ProductCase, name string) error {
	ctx, cancel := context.WithTimeout(ctx, p.Job.Timeout+waitSlack+c.Verifying(p.WorldSize))
	defer cancel()
	return p.group.Barrier(ctx, name)
}
