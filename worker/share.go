package worker

import (
	"context"

	"gpurun/kernels/collective"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// share tells all ranks what each measured; rank 0 passes the sum of it on to
// the launcher.
func (r *rank) share(ctx context.Context, c workload.Case, mine measurement) error {
	if err := r.phase("gathering the results of %s", c); err != nil {
		return err
	}
	ctx, cancel := r.afterVerifying(ctx, c)
	defer cancel()
	all, err := gather(ctx, r.group, "results", mine)
	if err != nil {
		return err
	}
	if r.Rank != 0 {
		return nil
	}
	merged := r.merge(c, all)
	return r.Reports.Result(result.Update{Result: &merged})
}

// merge makes one result of all ranks' measurements. Its times are those of
// the slowest rank, by the median: a collective is done when all ranks are.
func (r *rank) merge(c workload.Case, all []measurement) result.Result {
	res := result.Result{
		Collective: c.Algorithm.Collective, Algorithm: c.Algorithm.Name, Blocks: c.Call.Blocks, Why: c.Why,
		Library: r.title(c),
		DType:   c.Call.DType.Name, Op: string(c.Call.Op), Root: -1, Epilogue: string(c.Call.Epilogue.Kind),
		Bytes: c.Bytes(), Count: c.Call.Count, InPlace: c.InPlace, Alone: c.OutOfPlaceOnly, Mode: "stream", Asked: c.Requested,
	}
	if c.RequestedBytes != res.Bytes {
		res.AskedBytes = c.RequestedBytes
	}
	if c.Shape.Root != collective.NoRoot {
		res.Root = c.Call.Root
	}
	if c.Shape.Empty {
		res.DType = result.None
	}
	if r.Job.GraphReplays > 0 {
		res.Mode = "graph"
	}
	r.combine(&res, all)
	if us := res.Time.P50; us > 0 {
		res.AlgBW = float64(res.Bytes) / us / 1e3
		res.BusBW = res.AlgBW * r.plan.Collective.BusFactor(r.WorldSize)
	}
	return res
}

// combine sets what a result has of all ranks' measurements: the times of the slowest rank, by
// the median, and all that was found wrong.
func (r *rank) combine(res *result.Result, all []measurement) {
	var wrong int64
	for rank, m := range all {
		res.RankTimes = append(res.RankTimes, m.Time.P50)
		wrong += m.wrong()
		res.Mismatches = append(res.Mismatches, m.Mismatches...)
		if m.Time.P50 > all[res.SlowestRank].Time.P50 {
			res.SlowestRank = rank
		}
	}
	if r.Job.Verify {
		res.Wrong = &wrong
	}
	res.Time = all[res.SlowestRank].Time
	if r.Job.Passes > 0 {
		setSamples(res, all)
	}
}
