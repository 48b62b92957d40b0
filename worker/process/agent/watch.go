package agent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/report"
)

// Bounds on waits that nothing else limits.
const (
	// settleTime is how long a failure that is only a consequence waits for
	// its cause to show up.
	settleTime = 250 * time.Millisecond
	// killBound is how long a process may take to die of SIGKILL. One in an
	// uninterruptible system call does not.
	killBound = 2 * time.Second
	// leftoverGrace is how long processes that workers of a failed run had left
	// in their groups, when they ended by themselves, may take to end.
	leftoverGrace = time.Second
	// lookInterval is how often the agent looks for such processes.
	lookInterval = 20 * time.Millisecond
	// longestWait is that for something to happen or become due.
	longestWait = 5 * time.Second
)

// watch runs until every worker has exited and nothing is left of a group that
// was told to end, or until killing did not help.
func (g *group) watch(ctx context.Context) {
	done := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer close(g.ended)
	for g.busy() {
		timer.Reset(time.Until(g.wakeAt()))
		select {
		case e := <-g.events:
			g.take(e)
		case <-done:
			done = nil
			g.interrupt(context.Cause(ctx))
		case signal := <-g.spec.Signals:
			g.signalled(signal)
		case <-g.spec.Lifeline.Gone():
			g.end(syscall.SIGKILL, 0, ErrGuardGone)
			g.kill()
		case <-g.spec.Lifeline.Deaths():
			g.spec.Lifeline.died()
		case <-timer.C:
		}
		g.onTime(time.Now())
	}
}

// busy reports whether there is still something to wait for.
func (g *group) busy() bool {
	if !g.stop.killed.IsZero() && time.Since(g.stop.killed) > killBound {
		return false
	}
	if g.running > 0 {
		return true
	}
	return !g.stop.begun.IsZero() && g.stop.killed.IsZero() && len(g.workers) > 0 && groupsAlive(g.pids())
}

// take handles one event.
func (g *group) take(e event) {
	switch {
	case e.err != nil && e.worker != nil:
		// The worker cannot be waited for: it counts as gone.
		g.running--
		e.worker.exit = &exitStatus{code: -1}
		g.abort(e.err)
	case e.err != nil:
		g.abort(e.err)
	case e.failure != nil:
		g.failed(e.worker, e.failure, e.leaving, e.time)
	default:
		g.running--
		e.worker.exit, e.worker.exitedAt = e.exit, e.time
		g.log.Debug("worker exited", zap.Int("rank", e.worker.rank), zap.Int("code", e.exit.code), zap.Stringer("signal", e.exit.signal))
		if !e.exit.success() {
			g.failed(e.worker, nil, true, e.worker.exited(e.time))
		}
	}
}

// failed notes a worker's failure, which is nil when it just exited, and ends
// the group.
func (g *group) failed(w *worker, failure *report.Failure, leaving bool, at time.Time) {
	if w.failedAt.IsZero() {
		w.failedAt = at
	}
	if w.failure == nil {
		w.failure = failure
	}
	w.leaving = w.leaving || leaving
	if w.failure != nil && w.failure.Consequence {
		if g.stop.settle.IsZero() {
			g.stop.settle = at.Add(settleTime)
		}
		return
	}
	if g.spec.Failed != nil && (g.stop.begun.IsZero() || g.stop.told && w.failedAt.Before(g.stop.begun)) {
		g.stop.told = true
		g.spec.Failed(g.firstSoFar())
	}
	g.end(syscall.SIGTERM, g.spec.Grace, nil)
}

// onTime does what has become due.
func (g *group) onTime(now time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if due(g.stop.settle) {
		g.end(syscall.SIGTERM, g.spec.Grace, nil)
	}
	if g.running == 0 && !g.stop.begun.IsZero() && g.stop.cause == nil && !groupsAlive(g.interrupted()) {
		g.stop.killAt = earlier(g.stop.killAt, g.stop.begun.Add(leftoverGrace))
	}
	if due(g.stop.killAt) {
		g.kill()
	}
	if g.stop.begun.IsZero() {
		g.checkSilence(now)
	}
	g.spec.Lifeline.reapOrphans(now, g.pids())
}

// checkSilence declares workers hung that have not reported for too long.
func (g *group) checkSilence(now time.Time) {
	if g.spec.Silence <= 0 {
		return
	}
	for _, w := range g.workers {
		phase, heard := w.state()
		if w.exit == nil && now.Sub(heard) >= g.spec.Silence {
			g.failed(w, &report.Failure{
				Class:   report.Timeout,
				Phase:   phase,
				Message: fmt.Sprintf("hung: nothing heard from it for %v", g.spec.Silence),
			}, false, heard.Add(g.spec.Silence))
		}
	}
}

// wakeAt returns when onTime has something to do next.
func (g *group) wakeAt() time.Time {
	now := time.Now()
	at := now.Add(longestWait)
	if g.running == 0 {
		at = now.Add(lookInterval)
	}
	if reap, ok := g.spec.Lifeline.reapAt(); ok {
		at = earlier(at, reap)
	}
	switch {
	case !g.stop.killed.IsZero():
		return earlier(at, g.stop.killed.Add(killBound+time.Millisecond))
	case !g.stop.begun.IsZero():
		return earlier(at, g.stop.killAt)
	case !g.stop.settle.IsZero():
		at = earlier(at, g.stop.settle)
	}
	if g.spec.Silence > 0 {
		for _, w := range g.workers {
			if _, heard := w.state(); w.exit == nil {
				at = earlier(at, heard.Add(g.spec.Silence))
			}
		}
	}
	return at
}

// interrupted lists the groups that were at work when they were told to end.
// What is left of them, such as the program of a shell that the signal ended,
// may be saving its state.
func (g *group) interrupted() []int {
	var groups []int
	for _, w := range g.workers {
		failed := !w.failedAt.IsZero() && w.failedAt.Before(g.stop.begun)
		if w.exitedAt.After(g.stop.begun) && !failed {
			groups = append(groups, w.pid)
		}
	}
	return groups
}

func (g *group) pids() []int {
	pids := make([]int, len(g.workers))
	for i, w := range g.workers {
		pids[i] = w.pid
	}
	return pids
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
