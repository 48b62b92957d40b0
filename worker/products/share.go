package products

import (
	"context"

	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// share gathers what all ranks measured. Rank 0 reports the result.
func (p *run) share(ctx context.Context, c *candidate) error {
	if err := p.Status.Announce("gathering the results of %s", c); err != nil {
		return err
	}
	all, err := peers.GatherAfter(ctx, p.Peers, "results", c.Verifying(p.World), c.Measurement)
	if err != nil || p.ID != 0 {
		return err
	}
	merged := p.merge(c.ProductCase, all)
	return p.Status.Result(result.Update{Result: &merged})
}

// merge makes one result of all ranks' measurements, with the times of the slowest rank
// and the error of the worst.
func (p *run) merge(c workload.ProductCase, all []measure.Measurement) result.Result {
	b := c.Operation.Buffers(c.Problem, p.World)
	res := result.Result{
		Collective: c.Operation.Name, Algorithm: c.Algorithm.Name, Why: c.Why,
		DType: c.Problem.DType.Name, Op: result.None, Root: -1,
		Bytes: max(b.A, b.AFull, b.B, b.C), Count: b.C / int64(c.Problem.DType.Size), Alone: true, Mode: "stream",
		Library: p.Libraries.Title(c.Algorithm.Library),
		Product: &result.Product{M: c.Problem.M, N: c.Problem.N, K: c.Problem.K, Splits: c.Splits},
	}
	if c.Requested != c.Algorithm.Name {
		res.Asked = c.Requested
	}
	measure.Combine(&res, all, p.job.Verify)
	if p.job.Verify {
		in := c.Input(0, reference.Random, p.World)
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
