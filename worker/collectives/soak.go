package collectives

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gpurun/cudart"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/result"
	"gpurun/worker/soak"
	"gpurun/worker/workload"
)

const (
	soakStream = 0x736f616b // sets the random numbers apart from others by the same seed
	soakSeeds  = 1_000_000  // added to the job's seed; sweeps have fewer cases
	// maxGraphs is how many graphs are kept for later replays.
	maxGraphs = 64
)

// draws makes the calls that are verified after the sweep. The job's seed decides about them, so that all ranks draw
// the same.
type draws struct {
	*run
	cases  []workload.Case
	random *rand.Rand
	graphs map[int]cudart.Graph // by the number of the case
}

// drawn is such a call.
type drawn struct {
	trial
	kept int // the number of its case, or -1 for a size of its own
}

// verifyFurther verifies calls for as long as the job says.
func (r *run) verifyFurther(ctx context.Context, cases []workload.Case) error {
	if r.job.VerifyFor == 0 || len(cases) == 0 {
		return nil
	}
	d := &draws{
		run: r, cases: cases, random: rand.New(rand.NewPCG(r.job.Seed, soakStream)), graphs: map[int]cudart.Graph{},
	}
	defer d.close()
	return soak.Run(ctx, r.Rank, r.job.VerifyFor, func(number int64) soak.Call {
		c := d.draw(number)
		return soak.Call{
			Verify:    func(ctx context.Context) (measure.Measurement, error) { return d.verifyDrawn(ctx, c) },
			Verifying: c.Verifying(),
			Result:    func(wrong []measure.Measurement) result.Result { return r.merge(c.Case, wrong) },
		}
	})
}

// close releases the graphs. One that is not released is freed with the device.
func (d *draws) close() {
	for _, g := range d.graphs {
		_ = g.Close()
	}
}

// draw draws the next call: a case of the sweep, half of the time with a smaller size. Small sizes are as likely as
// large ones.
func (d *draws) draw(number int64) drawn {
	kept := d.random.IntN(len(d.cases))
	c, seed := d.cases[kept], d.job.Seed+soakSeeds+uint64(number)
	pattern := []reference.Pattern{reference.Exact, reference.Random}[d.random.IntN(2)]
	bytes := int64(math.Exp2(d.random.Float64() * math.Log2(float64(c.RequestedBytes+1))))
	if d.random.IntN(2) == 0 && d.resizable(c) {
		if smaller, ok := d.job.Resized(c, bytes); ok {
			c, kept = smaller, -1
		}
	}
	repeat := fmt.Sprintf("--seed %d", seed)
	if !c.Shape.Empty {
		repeat += fmt.Sprintf(" -b %d -e %[1]d", c.RequestedBytes)
	}
	when := fmt.Sprintf("in further call %d (%s repeats it)", number, repeat)
	return drawn{d.newTrial(c, placeSeed(seed, c.InPlace), pattern, when), kept}
}

// resizable reports whether a case also runs with sizes of its own. A library may have to connect for another size,
// which a capture does not allow.
func (d *draws) resizable(c workload.Case) bool {
	return !c.Shape.Empty && (libraryOf(c) == "" || d.job.GraphReplays == 0)
}

// verifyDrawn makes the call and says what was wrong.
func (d *draws) verifyDrawn(ctx context.Context, c drawn) (m measure.Measurement, err error) {
	if c.kept < 0 {
		if err := d.Comm.Prepare(d.Stream, c.Algorithm, d.place(c.Case)); err != nil {
			return m, err
		}
	}
	submit, release, err := d.submission(c)
	if err != nil {
		return m, err
	}
	defer release()
	err = d.verify(ctx, &m, c.trial, submit)
	return m, err
}

// submission is run.submission, but keeps the graphs of cases for later replays.
func (d *draws) submission(c drawn) (submit func() error, release func(), err error) {
	none := func() {}
	if d.job.GraphReplays == 0 {
		return func() error { return d.enqueue(c.Case) }, none, nil
	}
	graph, ok := d.graphs[c.kept]
	if ok {
		return func() error { return graph.Launch(d.Stream) }, none, nil
	}
	if graph, err = d.capture(c.Case, 1); err != nil {
		return nil, nil, err
	}
	release = func() { _ = graph.Close() }
	if c.kept >= 0 && len(d.graphs) < maxGraphs {
		d.graphs[c.kept], release = graph, none
	}
	return func() error { return graph.Launch(d.Stream) }, release, nil
}
