package worker

import (
	"context"
	"fmt"

	"gpurun/worker/result"
	"gpurun/worker/stats"
)

// What the links carry is measured by the copy engines: every rank copies to the
// next rank, all at the same time, then to the one after it, and so on. That way each
// GPU sends to one and receives from one at any time, which is the most that GPUs
// behind a switch can do. Where the peers have links of their own, it is one link's.

// Each peer is copied to so often, and in each repetition so many copies are timed
// together.
const (
	copyRepetitions = 5
	copiesAtOnce    = 4
)

// withCopies adds a place to copy from and one to copy to.
func (l layout) withCopies(bytes int64) layout {
	l.copyFrom = l.total
	l.copyTo = l.copyFrom + roundUp(bytes)
	l.total = l.copyTo + roundUp(bytes)
	return l
}

// noCeiling says why the links are not measured. All ranks know the same.
func (r *rank) noCeiling() string {
	switch {
	case r.Job.CeilingBytes <= 0:
		return "the job does not ask for it"
	case r.WorldSize == 1:
		return "one rank has no peer to copy to"
	}
	return r.around.apart
}

// measureCeiling finds out what the links carry, if the job asks for it, and reports
// that or why not.
func (r *rank) measureCeiling(ctx context.Context) error {
	if r.Job.CeilingBytes <= 0 {
		return nil
	}
	found := result.Ceiling{Skipped: r.noCeiling()}
	if found.Skipped == "" {
		if err := r.phase("measuring what the links carry"); err != nil {
			return err
		}
		mine, err := r.copyRate(ctx)
		if err != nil {
			return err
		}
		waiting, cancel := r.within(ctx)
		defer cancel()
		all, err := gather(waiting, r.group, "ceiling", mine)
		if err != nil {
			return err
		}
		found = result.Ceiling{CopyOut: all, Bytes: r.Job.CeilingBytes, Method: "copy engine, all ranks at once to one peer after the other"}
	}
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Ceiling: &found})
}

// copyRate is the median rate of this rank's copies, in GB/s.
func (r *rank) copyRate(ctx context.Context) (float64, error) {
	s, err := newStamps(r.device, 2)
	if err != nil {
		return 0, err
	}
	defer s.close()
	var rates []float64
	for range copyRepetitions {
		for distance := 1; distance < r.WorldSize; distance++ {
			peer := (r.Rank + distance) % r.WorldSize
			took, err := r.timeTogether(ctx, testCase{}, s, func() error { return r.copyTo(peer) })
			if err != nil {
				return 0, fmt.Errorf("copying to rank %d: %w", peer, err)
			}
			if ns := took.Nanoseconds(); ns > 0 { // bytes per ns are GB/s
				rates = append(rates, float64(copiesAtOnce*r.Job.CeilingBytes)/float64(ns))
			}
		}
	}
	return stats.Median(rates), nil
}

// copyTo enqueues the copies to a peer that are timed together.
func (r *rank) copyTo(peer int) error {
	for range copiesAtOnce {
		err := r.stream.Copy(r.comm.Peer(peer, r.layout.copyTo), r.comm.Local(r.layout.copyFrom), r.Job.CeilingBytes)
		if err != nil {
			return err
		}
	}
	return nil
}
