package products

import (
	"context"
	"fmt"
	"math"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/verify"
)

// compare compares every element of all outputs, and checks that the inputs are unchanged.
func (p *run) compare(ctx context.Context, t trial) error {
	b := t.Operation.Buffers(t.Problem, p.World)
	for _, x := range []struct {
		at, bytes int64
		compare   func(got []byte, rank int, first int64) reference.Verdict
	}{{t.call.A, b.A, t.in.CompareA}, {t.call.B, b.B, t.in.CompareB}} {
		v, err := p.compareMatrix(ctx, t, x.at, x.bytes, func(got []byte, first int64) reference.Verdict {
			return x.compare(got, p.ID, first)
		})
		if err != nil {
			return err
		}
		if v.Wrong > 0 {
			return verify.ErrInputChanged
		}
	}
	v, err := p.compareMatrix(ctx, t, t.call.AFull, b.AFull, t.in.CompareGathered)
	if err != nil {
		return err
	}
	p.note(t, v, b.AFull, ", in the gathered A")
	for _, b := range p.buffers(t) {
		if err := p.staging.CheckGuards(b); err != nil {
			return err
		}
	}
	return p.compareResult(ctx, t)
}

// compareMatrix compares so many bytes of elements that must match bit for bit.
func (p *run) compareMatrix(ctx context.Context, t trial, from, bytes int64,
	compare func(got []byte, first int64) reference.Verdict,
) (all reference.Verdict, err error) {
	err = p.staging.Download(ctx, "a matrix", p.Comm.Local(from), bytes, func(got []byte, at int64) {
		all = all.Merge(compare(got, at/int64(t.Problem.DType.Size)))
	})
	return all, err
}

// compareResult judges the product, some rows at a time, by quantities that the host computes,
// or the device for large products.
func (p *run) compareResult(ctx context.Context, t trial) error {
	rows, step := t.ResultRows(p.World), max(hostElements/t.Problem.N, 1)
	quantities := p.quantitiesByHost
	if t.CheckedByDevice(p.World) {
		step, quantities = t.CheckedRows(p.World), p.quantitiesByDevice
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
func (p *run) judgeElements(ctx context.Context, t trial, first int64, q []reference.Quantities,
	single bool,
) (v reference.Verdict, n reference.Norms, err error) {
	size := int64(t.Problem.DType.Size)
	from := p.Comm.Local(t.ResultAt(t.call) + first*size)
	err = p.staging.Download(ctx, "the result", from, int64(len(q))*size, func(got []byte, at int64) {
		skip, count := at/size, int64(len(got))/size
		verdict, norms := t.in.Judge(got, first+skip, q[skip:skip+count], single)
		v, n = v.Merge(verdict), n.Merge(norms)
	})
	return v, n, err
}

// note adds what is wrong with so many bytes of an output.
func (p *run) note(t trial, v reference.Verdict, bytes int64, where string) {
	size := t.Problem.DType.Size
	t.Mismatches = append(t.Mismatches, verify.Describe(v, p.ID, t.when+where, bytes/int64(size), size)...)
}

// noteNorms keeps the norms. If no element is wrong by itself, but the norm of all errors exceeds
// its limit, all elements count as wrong.
func (p *run) noteNorms(t trial, n reference.Norms, v reference.Verdict, bytes int64) {
	relative, limit := n.Relative(), n.Limit(t.in)
	if !math.IsNaN(relative) && !math.IsInf(relative, 0) {
		t.Norms = &n
	}
	if v.Wrong > 0 || relative <= limit {
		return
	}
	elements := bytes / int64(t.Problem.DType.Size)
	t.Mismatches = append(t.Mismatches, result.Mismatch{
		Rank: p.ID, Wrong: elements, Of: elements, Phase: t.when + ", by the norm of the error",
		Want: fmt.Sprintf("at most %.3g", limit), Got: fmt.Sprintf("%.3g", relative),
	})
}
