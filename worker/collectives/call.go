package collectives

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/worker/rank"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// load loads the kernels of a case. Areas hold their initial values before any rank makes a call.
func (r *run) load(ctx context.Context, c workload.Case) error {
	r.Status.Begin(phases.Load)
	if err := r.Comm.Prepare(r.Stream, c.Algorithm, r.place(c)); err != nil || c.Algorithm.Areas == nil {
		return err
	}
	if err := r.Synchronize(ctx); err != nil {
		return err
	}
	return r.Peers.Meet(ctx, "initial values")
}

// submission returns a function that puts one call of the case on the stream: by a launch, or, if
// the job uses graphs, by a replay of a graph. The graph is captured once and does not depend on
// the buffers' contents. The caller releases it.
func (r *run) submission(ctx context.Context, c workload.Case) (submit func() error, release func(), err error) {
	if r.job.GraphReplays == 0 {
		return func() error { return r.enqueue(c) }, func() {}, nil
	}
	if err := r.connect(ctx, c); err != nil {
		return nil, nil, err
	}
	graph, err := r.capture(c, 1)
	if err != nil {
		return nil, nil, err
	}
	// A graph whose release fails is freed with the device.
	return func() error { return graph.Launch(r.Stream) }, func() { _ = graph.Close() }, nil
}

// connect makes a call of a library's case outside of any graph. In the first call of a kind
// a library connects to its peers and allocates memory, which a capture does not allow. All
// ranks have met since one last checked the buffers.
func (r *run) connect(ctx context.Context, c workload.Case) error {
	if r.Libraries.Get(libraryOf(c)) == nil {
		return nil
	}
	if err := r.Status.Announce("making a first call of %s", c); err != nil {
		return err
	}
	if err := r.enqueue(c); err != nil {
		return err
	}
	return r.finish(ctx, c)
}

// capture makes a graph of so many calls of the case.
func (r *run) capture(c workload.Case, calls int) (cudart.Graph, error) {
	graph, err := r.Stream.Capture(func() error { return r.repeat(calls, func() error { return r.enqueue(c) }) })
	if err != nil {
		return nil, fmt.Errorf("capturing a graph: %w", err)
	}
	return graph, nil
}

// repeat makes so many calls. It ends once a kernel has missed a peer: that one's time-out is the one to report.
func (r *run) repeat(calls int, submit func() error) error {
	defer r.Launching()()
	for range calls {
		if err := r.Comm.Err(); err != nil {
			return err
		}
		if err := submit(); err != nil {
			return err
		}
	}
	return nil
}

// enqueue puts one call of the case on the stream.
func (r *run) enqueue(c workload.Case) error {
	return r.Call(workOf(c), func() error { return c.Algorithm.Enqueue(r.Comm, r.Stream, r.place(c)) })
}

// finish waits for calls of the case.
func (r *run) finish(ctx context.Context, c workload.Case) error {
	return r.Finish(ctx, workOf(c), nil)
}

// meet waits for all ranks, some of which may still be verifying the case.
func (r *run) meet(ctx context.Context, c workload.Case) error {
	return r.Peers.MeetAfter(ctx, "timing", c.Verifying())
}

// place is the case's call with its buffers.
func (r *run) place(c workload.Case) collective.Call { return r.layout.Place(c, r.ID) }

// libraryOf is the external library that does the case, or empty.
func libraryOf(c workload.Case) string { return c.Algorithm.Needs.Library }

// workOf says what does the case.
func workOf(c workload.Case) rank.Work {
	w := rank.Work{Library: libraryOf(c)}
	if c.Algorithm.Needs.Unbounded {
		w.Unbounded = c.Algorithm.Collective + " " + c.Algorithm.Name
	}
	return w
}
