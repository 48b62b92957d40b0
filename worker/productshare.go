package worker

import (
	"context"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// share tells all ranks what each measured; rank 0 passes the sum of it on.
func (p *productRun) share(ctx context.Context, c *productContestant) error {
	if err := p.phase("gathering the results of %s", c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.Job.Timeout+waitSlack+c.verifying(p.WorldSize))
	defer cancel()
	all, err := gather(ctx, p.group, "results", c.measurement)
	if err != nil || p.Rank != 0 {
		return err
	}
	merged := p.merge(c.productCase, all)
	return p.Reports.Result(result.Update{Result: &merged})
}

// merge makes one result of all ranks' measurements, with the times of the slowest rank
// and the error of the worst.
func (p *productRun) merge(c productCase, all []measurement) result.Result {
	b := c.operation.Buffers(c.problem, p.WorldSize)
	res := result.Result{
		Collective: c.operation.Name, Algorithm: c.algorithm.Name, Why: c.why,
		DType: c.problem.DType.Name, Op: result.None, Root: -1,
		Bytes: max(b.A, b.AFull, b.B, b.C), Count: b.C / int64(c.problem.DType.Size), Alone: true, Mode: "stream",
		Product: &result.Product{M: c.problem.M, N: c.problem.N, K: c.problem.K, Splits: c.splits},
	}
	if c.asked != c.algorithm.Name {
		res.Asked = c.asked
	}
	if l := p.libraries[c.algorithm.Library]; l != nil {
		res.Library = l.Title()
	}
	p.combine(&res, all)
	if p.Job.Verify {
		in := c.input(0, reference.Random, p.WorldSize)
		for _, m := range all {
			setError(res.Product, m.Norms, in)
		}
	}
	if us := res.Time.P50; us > 0 {
		res.Product.TFLOPS = float64(c.problem.Flops()) / us / 1e6
	}
	return res
}

// setError keeps the largest error among the ranks, and its limit.
func setError(p *result.Product, n *reference.Norms, in reference.Product) {
	if n == nil {
		return
	}
	if e, limit := n.Relative(), n.Limit(in); p.Error == nil || e > *p.Error {
		p.Error, p.Limit = &e, &limit
	}
}
