package collectives

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gpurun/cudart"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// soak verifies calls one after the other, each with new inputs, after the sweep. All ranks draw the same calls by the
// job's seed. They make a batch of calls without meeting, so that a rank may be ahead of another, and then tell one
// another what was wrong.
type soak struct {
	*run
	cases  []workload.Case
	random *rand.Rand
	began  time.Time
	done   int64 // calls that are verified
	graphs map[int]cudart.Graph
}

const (
	soakStream = 0x736f616b // sets the random numbers apart from others by the same seed
	// A batch of calls takes about so long.
	batchTime = 250 * time.Millisecond
	maxBatch  = 1024
	// maxGraphs is how many graphs are kept for later replays.
	maxGraphs = 64
)

// draw is a call of the soak.
type draw struct {
	trial
	seed uint64 // that repeats it
	kept int    // the number of its case, or -1 for a size of its own
}

// found is what a rank says after a batch.
type found struct {
	Failed  int                 `json:"failed"` // the first call that was wrong, or -1
	What    measure.Measurement `json:"what"`   // was wrong with it
	Elapsed time.Duration       `json:"elapsed"`
	Next    int                 `json:"next"` // calls of the next batch; 0: time is up
}

// verifyFurther verifies calls until the job's time for that has passed, or a call is wrong, and reports how many.
func (r *run) verifyFurther(ctx context.Context, cases []workload.Case) error {
	if r.job.VerifyFor == 0 || len(cases) == 0 {
		return nil
	}
	s := &soak{
		run: r, cases: cases, random: rand.New(rand.NewPCG(r.job.Seed, soakStream)), began: time.Now(),
		graphs: map[int]cudart.Graph{},
	}
	defer s.close()
	for batch := 1; batch > 0; {
		next, err := s.batch(ctx, batch)
		if err != nil {
			return err
		}
		batch = next
	}
	return nil
}

// close releases the graphs. One that is not released is freed with the device.
func (s *soak) close() {
	for _, g := range s.graphs {
		_ = g.Close()
	}
}

// batch verifies so many calls on all ranks, and returns how many the next batch has: 0 after the last one.
func (s *soak) batch(ctx context.Context, calls int) (next int, err error) {
	seconds := int(math.Ceil(s.job.VerifyFor.Seconds()))
	if err := s.Status.Progress(int(time.Since(s.began).Seconds()), seconds); err != nil {
		return 0, err
	}
	mine, busy, drawn := found{Failed: -1}, time.Duration(0), make([]draw, calls)
	began := time.Now()
	for i := range drawn {
		drawn[i] = s.draw(s.done + int64(i) + 1)
		busy += drawn[i].Verifying()
		m, err := s.verifyDraw(ctx, drawn[i])
		if err != nil {
			return 0, err
		}
		if m.Wrong() > 0 && mine.Failed < 0 {
			mine.Failed, mine.What = i, m
		}
	}
	mine.Elapsed = time.Since(s.began)
	if mine.Elapsed < s.job.VerifyFor {
		mine.Next = nextBatch(calls, time.Since(began))
	}
	all, err := peers.GatherAfter(ctx, s.Peers, "further calls", busy, mine)
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

// draw draws the next call, the same on all ranks: a case of the sweep, half of the time with a smaller size. Small
// sizes are as likely as large ones.
func (s *soak) draw(number int64) draw {
	d := draw{kept: s.random.IntN(len(s.cases)), seed: uint64(s.random.Uint32())}
	c := s.cases[d.kept]
	pattern := []reference.Pattern{reference.Exact, reference.Random}[s.random.IntN(2)]
	bytes := int64(math.Exp2(s.random.Float64() * math.Log2(float64(c.RequestedBytes+1))))
	if s.random.IntN(2) == 0 && s.resizable(c) {
		if smaller, ok := s.job.Resized(c, bytes); ok {
			c, d.kept = smaller, -1
		}
	}
	repeat := fmt.Sprintf("--seed %d", d.seed)
	if !c.Shape.Empty {
		repeat += fmt.Sprintf(" -b %d -e %[1]d", c.RequestedBytes)
	}
	when := fmt.Sprintf("in further call %d (%s repeats it)", number, repeat)
	d.trial = s.newTrial(c, placeSeed(d.seed, c.InPlace), pattern, when)
	return d
}

// resizable reports whether a case also runs with sizes of its own. A library may have to connect for another size,
// which a capture does not allow.
func (s *soak) resizable(c workload.Case) bool {
	return !c.Shape.Empty && (libraryOf(c) == "" || s.job.GraphReplays == 0)
}

// verifyDraw makes the call and says what was wrong.
func (s *soak) verifyDraw(ctx context.Context, d draw) (m measure.Measurement, err error) {
	if d.kept < 0 {
		if err := s.Comm.Prepare(s.Stream, d.Algorithm, s.place(d.Case)); err != nil {
			return m, err
		}
	}
	submit, release, err := s.submission(d)
	if err != nil {
		return m, err
	}
	defer release()
	return m, s.verify(ctx, &m, d.trial, submit)
}

// submission is run.submission, but keeps the graphs of cases for later replays.
func (s *soak) submission(d draw) (submit func() error, release func(), err error) {
	none := func() {}
	if s.job.GraphReplays == 0 {
		return func() error { return s.enqueue(d.Case) }, none, nil
	}
	graph, ok := s.graphs[d.kept]
	if !ok {
		if graph, err = s.capture(d.Case, 1); err != nil {
			return nil, nil, err
		}
		release = func() { _ = graph.Close() }
		if d.kept >= 0 && len(s.graphs) < maxGraphs {
			s.graphs[d.kept], release = graph, none
		}
		return func() error { return graph.Launch(s.Stream) }, release, nil
	}
	return func() error { return graph.Launch(s.Stream) }, none, nil
}

// report says how many calls were verified.
func (s *soak) report(elapsed time.Duration) error {
	if s.ID != 0 {
		return nil
	}
	return s.Status.Result(result.Update{Further: &result.Further{Calls: s.done, Minutes: elapsed.Minutes()}})
}

// reportFailure reports the call of a batch that was wrong, as a result without times, and the calls before it.
func (s *soak) reportFailure(d draw, failed int, all []found) error {
	if s.ID != 0 {
		return nil
	}
	wrong := make([]measure.Measurement, len(all))
	for rank, f := range all {
		if f.Failed == failed {
			wrong[rank] = f.What
		}
	}
	res := s.merge(d.Case, wrong)
	res.Untimed, res.RankTimes = true, nil
	if err := s.Status.Result(result.Update{Result: &res}); err != nil {
		return err
	}
	return s.report(all[0].Elapsed)
}
