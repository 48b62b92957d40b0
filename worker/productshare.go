package worker

import (
	"context"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// share tells all ranks what each measured; rank 0 passes the sum of it on.
func (p *productRun) share(ctx context.Context, c *productContestant) error {
	if err := p.phase("gathering the results of %s", c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.Job.Timeout+waitSlack+c.Verifying(p.WorldSize))
	defer cancel()
	all, err := gather(ctx, p.group, "results", c.measurement)
	if err != nil || p.Rank != 0 {
		return err
	}
	merged := p.merge(c.ProductCase, all)
	return p.Reports.Result(result.Update{Result: &merged})
}

// merge makes one result of all ranks' measurements, with the times of the slowest rank
// and the error of the worst.
func (p *productRun) merge(c workload.ProductCase, all []measurement) result.Result {
	b := c.Operation.Buffers(c.Problem, p.WorldSize)
	res := result.Result{
		Collective: c.Operation.Name, Algorithm: c.Algorithm.Name, Why: c.Why,
		DType: c.Problem.DType.Name, Op: result.None, Root: -1,
		Bytes: max(b.A, b.AFull, b.B, b.C), Count: b.C / int64(c.Problem.DType.Size), Alone: true, Mode: "stream",
		Product: &result.Product{M: c.Problem.M, N: c.Problem.N, K: c.Problem.K, Splits: c.Splits},
	}
	if c.Requested != c.Algorithm.Name {
		res.Asked = c.Requested
	}
	if l := p.libraries[c.Algorithm.Library]; l != nil {
		res.Library = l.Title()
	}
	p.combine(&res, all)
	if p.Job.Verify {
		in := c.Input(0, reference.Random, p.WorldSize)
		for _, m := range all {
			setError(res.Product, m.Norms, in)
		}
	}
	if us := res.Time.P50; us > 0 {
		res.Product.TFLOPS = float64(c.Problem.Flops()) / us / 1e6
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
