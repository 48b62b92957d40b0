package worker

import (
	"context"
	"fmt"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/stats"
	"gpurun/worker/workload"
)

// What the links carry is measured by the copy engines, in two ways. In turns, every
// rank copies to the next rank, all at the same time, then to the one after it, and so
// on: each GPU sends to one and receives from one at any time, which is the most that
// GPUs behind a switch can do. At once, every rank copies to all peers: that takes more
// where GPUs have a link of their own for each peer. The larger counts.

// Each way is tried so often, and in each repetition so many copies to a peer are
// timed together.
const (
	copyRepetitions = 5
	copiesAtOnce    = 4
)

// measureCeiling finds out what the links carry, if the job asks for it, and reports
// that or why not.
func (r *rank) measureCeiling(ctx context.Context) error {
	if r.Job.CeilingBytes <= 0 {
		return nil
	}
	r.Phases.Begin(phases.Links)
	found := result.Ceiling{Skipped: r.plan.NoCeiling(r.caps)}
	if found.Skipped == "" {
		if err := r.phase("measuring what the links carry"); err != nil {
			return err
		}
		mine, err := r.copyRates(ctx)
		if err != nil {
			return err
		}
		waiting, cancel := r.within(ctx)
		defer cancel()
		all, err := gather(waiting, r.group, "ceiling", mine)
		if err != nil {
			return err
		}
		found = ceilingOf(all, r.Job.CeilingBytes)
	}
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Ceiling: &found})
}

// copyRates are those of one rank's copies, in GB/s; 0 is unknown.
type copyRates struct {
	InTurns float64 `json:"in_turns"`
	AtOnce  float64 `json:"at_once"`
}

// ceilingOf takes the way of copying that is the faster one for the slowest rank.
func ceilingOf(all []copyRates, bytes int64) result.Ceiling {
	var inTurns, atOnce []float64
	for _, rates := range all {
		inTurns, atOnce = append(inTurns, rates.InTurns), append(atOnce, rates.AtOnce)
	}
	switch turns, once := slices.Min(inTurns), slices.Min(atOnce); {
	case turns == 0 && once == 0:
		return result.Ceiling{Skipped: "the device's clock stands still while it copies"}
	case once > turns:
		return result.Ceiling{
			CopyOut: atOnce, Bytes: workload.ConcurrentCopyBytes(bytes, len(all)-1),
			Method: "copy engine, all ranks at once to all peers at once",
		}
	}
	return result.Ceiling{CopyOut: inTurns, Bytes: bytes, Method: "copy engine, all ranks at once to one peer after the other"}
}

// copyRates measures both ways. A single peer is copied to in one.
func (r *rank) copyRates(ctx context.Context) (found copyRates, err error) {
	if found.InTurns, err = r.rateInTurns(ctx); err != nil || r.WorldSize == 2 {
		return found, err
	}
	found.AtOnce, err = r.rateAtOnce(ctx)
	return found, err
}

// rateInTurns is the median rate of this rank's copies to one peer at a time, in GB/s.
func (r *rank) rateInTurns(ctx context.Context) (float64, error) {
	s, err := newStamps(r.device, 2)
	if err != nil {
		return 0, err
	}
	defer s.close()
	var rates []float64
	for range copyRepetitions {
		for distance := 1; distance < r.WorldSize; distance++ {
			peer := (r.Rank + distance) % r.WorldSize
			took, _, err := r.timeTogether(ctx, workload.Case{}, s, func() error { return r.copyTo(peer) })
			if err != nil {
				return 0, fmt.Errorf("copying to rank %d: %w", peer, err)
			}
			if ns := took.Nanoseconds(); ns > 0 { // bytes per ns are GB/s
				rates = append(rates, float64(copiesAtOnce*r.Job.CeilingBytes)/float64(ns))
			}
		}
	}
	return medianRate(rates), nil
}

// medianRate is 0 where there are no rates.
func medianRate(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	return stats.Median(rates)
}

// copyTo enqueues the copies to a peer that are timed together.
func (r *rank) copyTo(peer int) error {
	for range copiesAtOnce {
		err := r.stream.Copy(r.comm.Peer(peer, r.layout.CopyTo), r.comm.Local(r.layout.CopyFrom), r.Job.CeilingBytes)
		if err != nil {
			return err
		}
	}
	return nil
}
