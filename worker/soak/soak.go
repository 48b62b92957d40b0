// Package soak verifies calls one after the other for a while, without timing. All ranks make the same calls. They make
// a batch of calls without meeting, so that a rank may be ahead of another, and then tell one another what was wrong.
package soak

import (
	"context"
	"math"
	"time"

	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/rank"
	"gpurun/worker/result"
)

// Call is a call of the soak.
type Call struct {
	// Verify makes the call, and says what was wrong on this rank.
	Verify func(ctx context.Context) (measure.Measurement, error)
	// Verifying bounds how much longer a rank may take than another.
	Verifying time.Duration
	// Result describes the call by what was wrong on each rank.
	Result func(wrong []measure.Measurement) result.Result
}

const (
	// A batch of calls takes about so long.
	batchTime = 250 * time.Millisecond
	maxBatch  = 1024
)

// found is what a rank says after a batch.
type found struct {
	Failed  int                 `json:"failed"` // the first call that was wrong, or -1
	What    measure.Measurement `json:"what"`   // was wrong with it
	Elapsed time.Duration       `json:"elapsed"`
	Next    int                 `json:"next"` // calls of the next batch; 0: time is up
}

// soak is one rank's part.
type soak struct {
	*rank.Rank
	limit time.Duration
	draw  func(number int64) Call
	began time.Time
	done  int64 // calls that are verified
}

// Run verifies calls until the limit has passed, or a call is wrong, and reports how many. draw makes the call with a
// number from 1 on, the same on all ranks.
func Run(ctx context.Context, r *rank.Rank, limit time.Duration, draw func(number int64) Call) error {
	s := &soak{Rank: r, limit: limit, draw: draw, began: time.Now()}
	for calls := 1; calls > 0; {
		next, err := s.batch(ctx, calls)
		if err != nil {
			return err
		}
		calls = next
	}
	return nil
}

// batch verifies so many calls on all ranks, and returns how many the next batch has: 0 after the last one.
func (s *soak) batch(ctx context.Context, calls int) (next int, err error) {
	total := int(math.Ceil(s.limit.Seconds()))
	if err := s.Status.Progress(min(int(time.Since(s.began).Seconds()), total), total); err != nil {
		return 0, err
	}
	mine, verifying, drawn := found{Failed: -1}, time.Duration(0), make([]Call, calls)
	began := time.Now()
	for i := range drawn {
		drawn[i] = s.draw(s.done + int64(i) + 1)
		verifying += drawn[i].Verifying
		m, err := drawn[i].Verify(ctx)
		if err != nil {
			return 0, err
		}
		if m.Wrong() > 0 && mine.Failed < 0 {
			mine.Failed, mine.What = i, m
		}
	}
	mine.Elapsed = time.Since(s.began)
	if mine.Elapsed < s.limit {
		mine.Next = nextBatch(calls, time.Since(began))
	}
	all, err := peers.GatherAfter(ctx, s.Peers, "further calls", verifying, mine)
	if err != nil {
		return 0, err
	}
	if failed := firstFailure(all); failed >= 0 {
		s.done += int64(failed)
		return 0, s.reportFailure(drawn[failed], failed, all)
	}
	if s.done += int64(calls); all[0].Next == 0 { // the clock of rank 0 decides
		return 0, s.report(all[0].Elapsed)
	}
	return all[0].Next, nil
}

// nextBatch adapts the size of batches to the time that they take.
func nextBatch(calls int, took time.Duration) int {
	switch {
	case took < batchTime/2:
		return min(2*calls, maxBatch)
	case took > 2*batchTime:
		return max(calls/2, 1)
	}
	return calls
}

// firstFailure is the first call of a batch that was wrong on any rank, or -1.
func firstFailure(all []found) int {
	first := -1
	for _, f := range all {
		if f.Failed >= 0 && (first < 0 || f.Failed < first) {
			first = f.Failed
		}
	}
	return first
}

// report says how many calls were verified.
func (s *soak) report(elapsed time.Duration) error {
	if s.ID != 0 {
		return nil
	}
	return s.Status.Result(result.Update{Further: &result.Further{Calls: s.done, Minutes: elapsed.Minutes()}})
}

// reportFailure reports the call of a batch that was wrong, as a result without times, and the calls before it.
func (s *soak) reportFailure(c Call, failed int, all []found) error {
	if s.ID != 0 {
		return nil
	}
	wrong := make([]measure.Measurement, len(all))
	for rank, f := range all {
		if f.Failed == failed {
			wrong[rank] = f.What
		}
	}
	res := c.Result(wrong)
	res.Untimed, res.RankTimes = true, nil
	if err := s.Status.Result(result.Update{Result: &res}); err != nil {
		return err
	}
	return s.report(all[0].Elapsed)
}
