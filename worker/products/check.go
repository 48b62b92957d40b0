package products

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
	"gpurun/worker/rank"
	"gpurun/worker/verify"
)

// A result is judged by quantities that the reference computes. For large products a kernel
// computes them, and the reference confirms samples.

// judge judges elements by their quantities. at is the number of the first element, counted
// from the first of the rows. The quantities are in fp32 if they are single.
type judge func(at int64, q []reference.Quantities, single bool) error

// hostElements is how many quantities the host holds at a time.
const hostElements = 1 << 20

// quantitiesByHost has the reference compute the quantities for rows of the result.
func (p *run) quantitiesByHost(_ context.Context, t trial, first, rows int64, judge judge) error {
	return judge(0, t.in.Quantities(p.ID, p.globalRow(t, first), rows), false)
}

// globalRow is a row of this rank's result among those of the whole.
func (p *run) globalRow(t trial, row int64) int64 {
	if t.Operation.Scatters && !t.LocalOnly() {
		row += int64(p.ID) * t.Operation.RowsOfC(t.Problem, p.World)
	}
	return row
}

// quantitiesByDevice has a kernel compute them, from inputs that are uploaded anew, those of one
// product after the other. The reference confirms samples.
func (p *run) quantitiesByDevice(ctx context.Context, t trial, first, rows int64, judge judge) error {
	l, row := p.layout, p.globalRow(t, first)
	for term := range t.in.Terms() {
		if err := p.uploadTerm(ctx, t, term, row, rows); err != nil {
			return fmt.Errorf("uploading the inputs for a check: %w", err)
		}
		err := p.runner.EnqueueCheck(matmul.CheckedProduct{
			Rows: rows, N: t.Problem.N, K: t.Problem.K, DType: t.Problem.DType,
			A: p.Comm.Local(l.CheckA), B: p.Comm.Local(l.CheckB), Out: p.Comm.Local(l.Quantities), Adds: term > 0,
		})
		if err != nil {
			return fmt.Errorf("checking the result on the device: %w", err)
		}
		if err := p.Finish(ctx, rank.Work{}, nil); err != nil {
			return err
		}
	}
	if err := p.confirmSamples(t, row, rows); err != nil {
		return err
	}
	for at := int64(0); at < rows*t.Problem.N; at += hostElements {
		q, err := p.downloadQuantities(at, min(hostElements, rows*t.Problem.N-at))
		if err != nil {
			return err
		}
		if err := judge(at, q, true); err != nil {
			return err
		}
	}
	return nil
}

// uploadTerm writes the operands of one of the products whose sum the result is: so many rows of
// A, and B.
func (p *run) uploadTerm(ctx context.Context, t trial, term int, row, rows int64) error {
	l, k, size := p.layout, t.Problem.K, int64(t.Problem.DType.Size)
	fillA := func(dst []byte, first int64) { t.in.FillTermA(dst, p.ID, term, row*k+first) }
	if err := p.upload(ctx, t, l.CheckA, rows*k*size, fillA); err != nil {
		return err
	}
	fillB := func(dst []byte, first int64) { t.in.FillTermB(dst, p.ID, term, first) }
	return p.upload(ctx, t, l.CheckB, t.Problem.N*k*size, fillB)
}

// samples is the number of elements that the reference confirms.
const samples = 64

// confirmSamples compares a kernel's quantities of some elements, chosen by the seed, with the
// reference's.
func (p *run) confirmSamples(t trial, row, rows int64) error {
	random := rand.New(rand.NewPCG(t.in.Seed, uint64(p.ID)<<32|uint64(row)))
	for range samples {
		r, column := random.Int64N(rows), random.Int64N(t.Problem.N)
		got, err := p.downloadQuantities(r*t.Problem.N+column, 1)
		if err != nil {
			return err
		}
		if err := t.in.Confirm(p.ID, row+r, column, got[0]); err != nil {
			return fmt.Errorf("%w: %w", verify.ErrCheckWrong, err)
		}
	}
	return p.Status.KeepAlive()
}

func (p *run) downloadQuantities(at, count int64) ([]reference.Quantities, error) {
	raw := make([]byte, count*matmul.QuantitiesBytes)
	if err := p.Stream.Download(raw, p.Comm.Local(p.layout.Quantities+at*matmul.QuantitiesBytes)); err != nil {
		return nil, fmt.Errorf("downloading the quantities for the check: %w", err)
	}
	return reference.DecodeQuantities(raw), nil
}
