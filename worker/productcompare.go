package worker

import (
	"context"
	"fmt"
	"math"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// compareProduct compares every element of all outputs, and that the inputs are as they
// were.
func (p *productRun) compareProduct(ctx context.Context, t productTrial) error {
	b := t.Operation.Buffers(t.Problem, p.WorldSize)
	for _, x := range []struct {
		at, bytes int64
		compare   func(got []byte, rank int, first int64) reference.Verdict
	}{{t.call.A, b.A, t.in.CompareA}, {t.call.B, b.B, t.in.CompareB}} {
		v, err := p.compareMatrix(ctx, t, x.at, x.bytes, func(got []byte, first int64) reference.Verdict {
			return x.compare(got, p.Rank, first)
		})
		if err != nil {
			return err
		}
		if v.Wrong > 0 {
			return errInputChanged
		}
	}
	v, err := p.compareMatrix(ctx, t, t.call.AFull, b.AFull, t.in.CompareGathered)
	if err != nil {
		return err
	}
	p.note(t, v, b.AFull, ", in the gathered A")
	return p.compareResult(ctx, t)
}

// compareMatrix compares so many bytes of elements that must match bit for bit.
func (p *productRun) compareMatrix(ctx context.Context, t productTrial, from, bytes int64,
	compare func(got []byte, first int64) reference.Verdict,
) (all reference.Verdict, err error) {
	err = p.matrixChunks(ctx, bytes, func(at int64) error {
		if err := p.stream.Download(p.buffers.output, p.comm.Local(from+at)); err != nil {
			return fmt.Errorf("downloading a matrix: %w", err)
		}
		all = all.Merge(compare(p.buffers.output, at/int64(t.Problem.DType.Size)))
		return nil
	})
	return all, err
}

// compareResult compares the product, some rows at a time, with quantities that the
// reference works out, or for large products a kernel.
func (p *productRun) compareResult(ctx context.Context, t productTrial) error {
	rows, step := t.ResultRows(p.WorldSize), max(hostElements/t.Problem.N, 1)
	quantities := p.quantitiesByHost
	if t.CheckedByDevice(p.WorldSize) {
		step, quantities = t.CheckedRows(p.WorldSize), p.quantitiesByDevice
	}
	var verdict reference.Verdict
	var norms reference.Norms
	for first := int64(0); first < rows; first += step {
		count := min(step, rows-first)
		judge := func(at int64, q []reference.Quantities, single bool) error {
			v, n, err := p.judgeElements(ctx, t, first*t.Problem.N+at, q, single)
			verdict, norms = verdict.Merge(v), norms.Merge(n)
			return err
		}
		if err := quantities(ctx, t, first, count, judge); err != nil {
			return err
		}
	}
	bytes := rows * t.Problem.N * int64(t.Problem.DType.Size)
	p.note(t, verdict, bytes, "")
	if t.in.Pattern == reference.Random {
		p.noteNorms(t, norms, verdict, bytes)
	}
	return nil
}

// judgeElements downloads elements of the result and judges them.
func (p *productRun) judgeElements(ctx context.Context, t productTrial, first int64, q []reference.Quantities, single bool) (reference.Verdict, reference.Norms, error) {
	if ctx.Err() != nil {
		return reference.Verdict{}, reference.Norms{}, context.Cause(ctx)
	}
	if err := p.alive(); err != nil {
		return reference.Verdict{}, reference.Norms{}, err
	}
	size := int64(t.Problem.DType.Size)
	p.buffers.resize(int64(len(q)) * size)
	if err := p.stream.Download(p.buffers.output, p.comm.Local(t.ResultAt(t.call)+first*size)); err != nil {
		return reference.Verdict{}, reference.Norms{}, fmt.Errorf("downloading the result: %w", err)
	}
	v, n := t.in.Judge(p.buffers.output, first, q, single)
	return v, n, nil
}

// note adds what is wrong with so many bytes of an output.
func (p *productRun) note(t productTrial, v reference.Verdict, bytes int64, where string) {
	if v.Wrong == 0 {
		return
	}
	size := t.Problem.DType.Size
	t.Mismatches = append(t.Mismatches, result.Mismatch{
		Rank: p.Rank, Wrong: v.Wrong, Of: bytes / int64(size), Index: v.First, Phase: t.when + where,
		Want: hexBits(v.Want, size), Got: hexBits(v.Got, size),
	})
}

// noteNorms keeps the norms, and makes all elements wrong where their errors are too
// large together though none is by itself.
func (p *productRun) noteNorms(t productTrial, n reference.Norms, v reference.Verdict, bytes int64) {
	relative, limit := n.Relative(), n.Limit(t.in)
	if !math.IsNaN(relative) && !math.IsInf(relative, 0) {
		t.Norms = &n
	}
	if v.Wrong > 0 || relative <= limit {
		return
	}
	elements := bytes / int64(t.Problem.DType.Size)
	t.Mismatches = append(t.Mismatches, result.Mismatch{
		Rank: p.Rank, Wrong: elements, Of: elements, Phase: t.when + ", by the norm of the error",
		Want: fmt.Sprintf("at most %.3g", limit), Got: fmt.Sprintf("%.3g", relative),
	})
}
