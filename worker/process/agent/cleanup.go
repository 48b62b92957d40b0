package agent

import (
	"context"
	"fmt"
	"time"
)

const (
	// sweepBound is how long killing leftovers may take.
	sweepBound = 2 * time.Second
	// pipeBound is how long a pipe may stay open that a process outside the
	// agent's reach has inherited.
	pipeBound = 200 * time.Millisecond
	// outputBound is how long an interrupted run waits for somebody to read
	// its output.
	outputBound = time.Second
)

// cleanUp kills what is left of the workers and reaps it.
func (g *group) cleanUp() {
	g.kill()
	for _, w := range g.workers {
		if w.exit == nil {
			g.trouble(fmt.Errorf("rank %d (pid %d) did not die of SIGKILL within %v: the kernel or a driver holds it", w.rank, w.pid, killBound))
			continue
		}
		// The status is known; this only reaps the process.
		_ = w.cmd.Wait()
	}
	g.spawner.close()
	if err := g.spec.Lifeline.sweep(); err != nil {
		g.trouble(err)
	}
}

// drain waits for the rest of the output and of the reports. As long as nobody
// asked for the end, it waits for whoever reads the output, as any program
// does.
func (g *group) drain(ctx context.Context) {
	deadline := time.Now().Add(pipeBound)
	for _, w := range g.workers {
		for _, pipe := range w.pipes() {
			// An error would mean that it is closed: then there is nothing to wait for.
			_ = pipe.SetReadDeadline(deadline)
		}
	}
	done := make(chan struct{})
	go func() {
		g.readers.Wait()
		close(done)
	}()
	if g.stop.cause == nil {
		select {
		case <-done:
		case <-ctx.Done():
		case <-g.spec.Signals:
		case <-g.spec.Lifeline.Gone():
		}
	}
	select {
	case <-done:
	case <-time.After(outputBound):
		err := fmt.Errorf("gave up writing the workers' output: nobody read it for %v", outputBound)
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		g.trouble(err)
	}
	for _, w := range g.workers {
		closeAll(w.pipes()...)
	}
}
