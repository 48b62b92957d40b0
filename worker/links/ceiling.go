package links

import (
	"context"
	"fmt"
	"slices"

	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/rank"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/stats"
	"gpurun/worker/workload"
)

// The ceiling is measured by the copy engines, in two ways. In turns, every rank copies to
// the next rank, all at the same time, then to the one after it, and so on: each GPU sends to
// one and receives from one at any time, which is the most that GPUs behind a switch can do.
// Concurrently, every rank copies to all peers: that takes more where GPUs have a link of
// their own for each peer. The larger rate counts.

// Repetitions of each way, and the number of copies to a peer that are timed together in each
// repetition.
const (
	repetitions   = 5
	copiesPerPeer = 4
)

// MeasureCeiling measures what the links carry with copies of so many bytes. Rank 0 reports
// the ceiling, or, if skip is not empty, that it is not measured for this reason.
func MeasureCeiling(ctx context.Context, r *rank.Rank, bytes int64, skip string, layout workload.Layout) error {
	r.Status.Begin(phases.Links)
	found := result.Ceiling{Skipped: skip}
	if skip == "" {
		if err := r.Status.Announce("measuring what the links carry"); err != nil {
			return err
		}
		mine, err := ceiling{r, bytes, layout.CopyFrom, layout.CopyTo}.measure(ctx)
		if err != nil {
			return err
		}
		all, err := peers.Gather(ctx, r.Peers, "ceiling", mine)
		if err != nil {
			return err
		}
		found = ceilingOf(all, bytes)
	}
	if r.ID != 0 {
		return nil
	}
	return r.Status.Result(result.Update{Ceiling: &found})
}

// ceiling is one rank's part in measuring the ceiling. Offsets are from the base of the
// symmetric memory.
type ceiling struct {
	*rank.Rank
	bytes    int64 // of a copy
	from, to int64 // offsets of what is copied, and of where the first copy goes
}

// copyRates are those of one rank's copies, in GB/s; 0 is unknown.
type copyRates struct {
	InTurns    float64 `json:"in_turns"`
	Concurrent float64 `json:"at_once"`
}

// ceilingOf takes the way of copying that is the faster one for the slowest rank.
func ceilingOf(all []copyRates, bytes int64) result.Ceiling {
	var inTurns, concurrent []float64
	for _, rates := range all {
		inTurns, concurrent = append(inTurns, rates.InTurns), append(concurrent, rates.Concurrent)
	}
	switch slowInTurns, slowConcurrent := slices.Min(inTurns), slices.Min(concurrent); {
	case slowInTurns == 0 && slowConcurrent == 0:
		return result.Ceiling{Skipped: "the device's clock does not advance while it copies"}
	case slowConcurrent > slowInTurns:
		return result.Ceiling{
			CopyOut: concurrent, Bytes: workload.ConcurrentCopyBytes(bytes, len(concurrent)-1),
			Method: "copy engine, all ranks at once to all peers at once",
		}
	}
	return result.Ceiling{
		CopyOut: inTurns, Bytes: bytes, Method: "copy engine, all ranks at once to one peer after the other",
	}
}

// measure measures both ways. For a single peer they are the same.
func (c ceiling) measure(ctx context.Context) (found copyRates, err error) {
	if found.InTurns, err = c.rateInTurns(ctx); err != nil || c.World == 2 {
		return found, err
	}
	found.Concurrent, err = c.rateConcurrent(ctx)
	return found, err
}

// rateInTurns is the median rate of this rank's copies to one peer at a time, in GB/s.
func (c ceiling) rateInTurns(ctx context.Context) (float64, error) {
	events, err := c.NewEvents(2)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	var rates []float64
	for range repetitions {
		for distance := 1; distance < c.World; distance++ {
			peer := (c.ID + distance) % c.World
			sample, err := measure.Batch(ctx, c.Rank, rank.Work{}, events, func() error { return c.copyTo(peer) })
			if err != nil {
				return 0, fmt.Errorf("copying to rank %d: %w", peer, err)
			}
			if ns := sample.Took.Nanoseconds(); ns > 0 { // bytes per ns are GB/s
				rates = append(rates, float64(copiesPerPeer*c.bytes)/float64(ns))
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
func (c ceiling) copyTo(peer int) error {
	for range copiesPerPeer {
		if err := c.Stream.Copy(c.Comm.Peer(peer, c.to), c.Comm.Local(c.from), c.bytes); err != nil {
			return err
		}
	}
	return nil
}
