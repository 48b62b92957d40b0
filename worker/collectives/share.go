package collectives

import (
	"context"

	"gpurun/kernels/collective"
	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// share gathers what all ranks measured of a case. Rank 0 reports the result.
func (r *run) share(ctx context.Context, c workload.Case, mine measure.Measurement) error {
	if err := r.Status.Announce("gathering the results of %s", c); err != nil {
		return err
	}
	all, err := peers.GatherAfter(ctx, r.Peers, "results", c.Verifying(), mine)
	if err != nil || r.ID != 0 {
		return err
	}
	merged := r.merge(c, all)
	return r.Status.Result(result.Update{Result: &merged})
}

// merge makes one result of all ranks' measurements. Its times are those of
// the slowest rank, by the median: a collective is done when all ranks are.
func (r *run) merge(c workload.Case, all []measure.Measurement) result.Result {
	res := result.Result{
		Collective: c.Algorithm.Collective, Algorithm: c.Algorithm.Name, Blocks: c.Call.Blocks, Why: c.Why,
		Library: r.Libraries.Title(libraryOf(c)),
		DType:   c.Call.DType.Name, Op: string(c.Call.Op), Root: -1, Epilogue: string(c.Call.Epilogue.Kind),
		Bytes: c.Bytes(), Count: c.Call.Count, InPlace: c.InPlace, Alone: c.OutOfPlaceOnly, Mode: "stream",
		Asked: c.Requested,
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
	if r.job.GraphReplays > 0 {
		res.Mode = "graph"
	}
	measure.Combine(&res, all, r.job.Verify)
	if us := res.Time.P50; us > 0 {
		res.AlgBW = float64(res.Bytes) / us / 1e3
		res.BusBW = res.AlgBW * r.collective.BusFactor(r.World)
	}
	return res
}

// shareGroup gathers what all ranks measured of a group. Rank 0 reports the results.
func (r *run) shareGroup(ctx context.Context, group []workload.Case, mine []measure.Measurement) error {
	if err := r.Status.Announce("gathering the results of %s", group[0]); err != nil {
		return err
	}
	all, err := peers.Gather(ctx, r.Peers, "results", mine)
	if err != nil || r.ID != 0 {
		return err
	}
	for i, c := range group {
		ofCase := make([]measure.Measurement, len(all))
		for rank, found := range all {
			ofCase[rank] = found[i]
		}
		merged := r.merge(c, ofCase)
		if err := r.Status.Result(result.Update{Result: &merged}); err != nil {
			return err
		}
	}
	return nil
}
