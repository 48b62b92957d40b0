package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
	"gpurun/worker/workload"
)

// What a result is judged by is worked out by the reference, or where that would take
// long, by a kernel that the reference checks.

// errCheckWrong is a check that proves nothing.
var errCheckWrong = errors.New("the kernel that checks results of this size is wrong itself, or its memory was overwritten")

// judge judges elements, the first of which is so far from the first of some rows, by
// quantities that are in fp32 if they are single.
type judge func(at int64, q []reference.Quantities, single bool) error

// hostElements is how many quantities the host holds at a time.
const hostElements = 1 << 20

// quantitiesByHost has the reference work out what rows of the result are judged by.
func (p *productRun) quantitiesByHost(_ context.Context, t productTrial, first, rows int64, judge judge) error {
	return judge(0, t.in.Quantities(p.Rank, p.globalRow(t, first), rows), false)
}

// globalRow is a row of this rank's result among those of the whole.
func (p *productRun) globalRow(t productTrial, row int64) int64 {
	if t.Operation.Scatters && !t.LocalOnly() {
		row += int64(p.Rank) * t.Operation.RowsOfC(t.Problem, p.WorldSize)
	}
	return row
}

// quantitiesByDevice has a kernel do so, from inputs that are uploaded anew, those of one
// product after the other. The reference confirms samples of what comes of it.
func (p *productRun) quantitiesByDevice(ctx context.Context, t productTrial, first, rows int64, judge judge) error {
	l, row := p.layout.Products, p.globalRow(t, first)
	for term := range t.in.Terms() {
		if err := p.uploadTerm(ctx, t, term, row, rows); err != nil {
			return fmt.Errorf("uploading the inputs for a check: %w", err)
		}
		err := p.runner.EnqueueCheck(matmul.CheckedProduct{
			Rows: rows, N: t.Problem.N, K: t.Problem.K, DType: t.Problem.DType,
			A: p.comm.Local(l.CheckA), B: p.comm.Local(l.CheckB), Out: p.comm.Local(l.Quantities), Adds: term > 0,
		})
		if err != nil {
			return fmt.Errorf("checking the result on the device: %w", err)
		}
		if err := p.finish(ctx, workload.Case{}, nil); err != nil {
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

// uploadTerm writes the operands of a product that the result is the sum of: so many rows
// of A, and B.
func (p *productRun) uploadTerm(ctx context.Context, t productTrial, term int, row, rows int64) error {
	l, k, size := p.layout.Products, t.Problem.K, t.Problem.DType.Size
	fillA := func(dst []byte, first int64) { t.in.FillTermA(dst, p.Rank, term, row*k+first) }
	if err := p.uploadMatrix(ctx, p.comm.Local(l.CheckA), rows*k*int64(size), size, fillA); err != nil {
		return err
	}
	fillB := func(dst []byte, first int64) { t.in.FillTermB(dst, p.Rank, term, first) }
	return p.uploadMatrix(ctx, p.comm.Local(l.CheckB), t.Problem.N*k*int64(size), size, fillB)
}

// samples is how many elements the reference confirms of what a kernel worked out.
const samples = 64

// confirmSamples compares what a kernel worked out for some elements, chosen by the seed,
// with what the reference makes of them.
func (p *productRun) confirmSamples(t productTrial, row, rows int64) error {
	random := rand.New(rand.NewPCG(t.in.Seed, uint64(p.Rank)<<32|uint64(row)))
	for range samples {
		r, column := random.Int64N(rows), random.Int64N(t.Problem.N)
		got, err := p.downloadQuantities(r*t.Problem.N+column, 1)
		if err != nil {
			return err
		}
		if err := t.in.Confirm(p.Rank, row+r, column, got[0]); err != nil {
			return fmt.Errorf("%w: %w", errCheckWrong, err)
		}
	}
	return p.alive()
}

func (p *productRun) downloadQuantities(at, count int64) ([]reference.Quantities, error) {
	raw := make([]byte, count*matmul.QuantitiesBytes)
	if err := p.stream.Download(raw, p.comm.Local(p.layout.Products.Quantities+at*matmul.QuantitiesBytes)); err != nil {
		return nil, fmt.Errorf("downloading what the result is judged by: %w", err)
	}
	return reference.DecodeQuantities(raw), nil
}
