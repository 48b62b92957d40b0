package worker

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/stats"
	"gpurun/worker/workload"
)

// In rounds, the cases that differ in algorithm and grid alone are measured side by
// side: A B C, B C A, ..., in an order that changes from round to round. Clocks and
// temperatures drift, and other jobs come and go: that hits all alike, where algorithms
// one after the other would each have weather of their own.

// runRounds makes all measurements in rounds, in step with the peers.
func (r *rank) runRounds(ctx context.Context) error {
	all := r.plan.SideBySide()
	done, total := 0, len(slices.Concat(all...))
	for _, group := range all {
		if err := r.Reports.Progress(done, total); err != nil {
			return err
		}
		mine, err := r.measureGroup(ctx, group)
		if err != nil { // the phase names the case
			return err
		}
		if err := r.shareGroup(ctx, group, mine); err != nil {
			return err
		}
		r.Phases.Begin(phases.Cases)
		done += len(group)
	}
	return nil
}

// order is the order of n cases in a round, the same on all ranks. Over n rounds, or 2n where n is odd, each case has each
// place, and comes right after each other case of a round, equally often, because what comes before matters: after a
// product that heats the GPU up to its limit of power the next one takes 5% longer than after a collective. Williams,
// "Experimental Designs Balanced for the Estimation of Residual Effects of Treatments" (1949). The seed shuffles which case is
// which, and the rounds, so that what comes last in one is not always before the same.
func order(seed uint64, round, n int) []int {
	if n == 0 {
		return nil
	}
	cycle := round / n
	rounds := rand.New(rand.NewPCG(seed, uint64(1+cycle))).Perm(n)
	cases, places := rand.New(rand.NewPCG(seed, 0)).Perm(n), make([]int, n)
	for i := range places { // 0, n-1, 1, n-2, ...: no two steps are alike
		step := i / 2
		if i%2 == 1 {
			step = n - 1 - i/2
		}
		places[i] = cases[(step+rounds[round%n])%n]
	}
	if n%2 == 1 && cycle%2 == 1 {
		slices.Reverse(places)
	}
	return places
}

// measureGroup verifies each case of a group, times them in rounds, and verifies
// them again.
func (r *rank) measureGroup(ctx context.Context, group []workload.Case) ([]measurement, error) {
	all := make([]contestant, len(group))
	for i := range all {
		c := &all[i]
		c.Case = group[i]
		defer c.close()
		if err := r.enter(ctx, c); err != nil {
			return nil, err
		}
	}
	for round := range r.Job.Passes {
		for _, i := range order(r.Job.Seed, round, len(all)) {
			if err := r.timeRound(ctx, &all[i], round); err != nil {
				return nil, err
			}
		}
	}
	var found []measurement
	for i := range all {
		c := &all[i]
		c.Time = distribution(slices.Clone(c.Samples))
		if err := r.verifyInto(ctx, &c.measurement, r.newTrial(c.Case, reference.Random, "after timing"), c.submit); err != nil {
			return nil, err
		}
		if err := r.meetAfterVerifying(ctx, c.Case); err != nil {
			return nil, err
		}
		found = append(found, c.measurement)
	}
	return found, nil
}

// timeRound takes a sample of a case.
func (r *rank) timeRound(ctx context.Context, c *contestant, round int) error {
	if err := r.phase("timing %s, round %d of %d", c.Case, round+1, r.Job.Passes); err != nil {
		return err
	}
	took, onHost, err := r.timeTogether(ctx, c.Case, c.stamps, c.batch)
	if err != nil {
		return err
	}
	c.note(r.Job, took, onHost)
	return nil
}

// note adds what a round took, and where calls are launched one by one, what of that the host did.
func (m *measurement) note(j workload.Job, took, onHost time.Duration) {
	calls := time.Duration(j.Iterations)
	m.Samples = append(m.Samples, took/calls)
	if j.GraphReplays == 0 {
		m.OnHost = append(m.OnHost, onHost/calls)
	}
}

// shareGroup tells all ranks what each measured of a group; rank 0 passes the sum of
// it on to the launcher.
func (r *rank) shareGroup(ctx context.Context, group []workload.Case, mine []measurement) error {
	if err := r.phase("gathering the results of %s", group[0]); err != nil {
		return err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	all, err := gather(ctx, r.group, "results", mine)
	if err != nil || r.Rank != 0 {
		return err
	}
	for i, c := range group {
		ofCase := make([]measurement, len(all))
		for rank, found := range all {
			ofCase[rank] = found[i]
		}
		merged := r.merge(c, ofCase)
		if err := r.Reports.Result(result.Update{Result: &merged}); err != nil {
			return err
		}
	}
	return nil
}

// setSamples makes samples of the slowest rank's time in each round, and the
// distribution of them; likewise of the hosts' the median.
func setSamples(res *result.Result, all []measurement) {
	samples := slowest(all, func(m measurement) []time.Duration { return m.Samples })
	res.Samples = inMicros(samples)
	res.Time = distribution(samples)
	res.Time.P50 = stats.Median(res.Samples)
	if onHost := slowest(all, func(m measurement) []time.Duration { return m.OnHost }); len(onHost) > 0 {
		res.OnHost = stats.Median(inMicros(onHost))
	}
}

// slowest is the longest of all ranks' times in each round.
func slowest(all []measurement, of func(measurement) []time.Duration) []time.Duration {
	times := slices.Clone(of(all[0]))
	for _, m := range all[1:] {
		for round, d := range of(m) {
			times[round] = max(times[round], d)
		}
	}
	return times
}

func inMicros(times []time.Duration) (us []float64) {
	for _, d := range times {
		us = append(us, float64(d.Nanoseconds())/1e3)
	}
	return us
}
