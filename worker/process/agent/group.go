package agent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/crash"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/oomkill"
	"gpurun/worker/process/procfs"
	"gpurun/worker/process/report"
	"gpurun/worker/process/spawn"
)

const (
	// pollInterval is how often the agent looks for processes that are left in the
	// workers' groups.
	pollInterval = 20 * time.Millisecond
	// longestWait bounds one wait of the loop.
	longestWait = 5 * time.Second
)

// A group is the workers of one Run, and the loop that decides about them.
type group struct {
	spec     *Spec
	log      *zap.Logger
	thread   *spawn.Thread
	consoles consoles
	events   *events
	readers  *readers
	workers  workers
	ending   ending
	oomKills oomkill.Counter
	dumping  dumping
	resumed  time.Time // when the agent went on after it was stopped; silence counts from then
}

func newGroup(spec Spec) *group {
	incoming := newEvents()
	return &group{
		spec:     &spec,
		log:      spec.Logger,
		thread:   spawn.NewThread(),
		consoles: newConsoles(&spec),
		events:   incoming,
		readers:  &readers{events: incoming, reports: spec.Reports},
		oomKills: oomkill.NewCounter(),
	}
}

// start starts the workers. When one cannot be started, or ctx ends, it leaves
// out the rest.
func (g *group) start(ctx context.Context) {
	for worker := range g.spec.Workers {
		if ctx.Err() != nil {
			g.interrupt(context.Cause(ctx))
			return
		}
		w := newWorker(g.spec, g.spec.FirstLocalRank+worker)
		if err := w.start(ctx, g.spec, g.consoles, g.thread); err != nil {
			g.abort(fmt.Errorf("starting rank %d: %w", w.Rank, crash.WithLimits(err)))
			return
		}
		g.log.Debug("worker started", zap.Int("rank", w.Rank), zap.Int("pid", w.PID))
		g.workers = append(g.workers, w)
		g.readers.attach(w)
	}
}

// watch runs until every worker has exited and no process is left in a group that was told to end.
// It also ends when processes do not die of SIGKILL.
func (g *group) watch(ctx context.Context) {
	done := ctx.Done()
	reaper := g.spec.Lifeline.Reaper()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer g.events.close()
	for g.busy() {
		wait := max(0, time.Until(g.wakeAt()))
		at := time.Now().Add(wait)
		timer.Reset(wait)
		select {
		case e := <-g.events.next():
			g.take(e)
		case <-done:
			done = nil
			g.interrupted(context.Cause(ctx))
		case signal := <-g.spec.Signals:
			g.signaled(signal)
		case signal := <-g.spec.Lifeline.Again():
			g.signaled(signal)
		case <-g.spec.Lifeline.Gone():
			g.end(syscall.SIGKILL, 0, guard.ErrGone)
			g.kill()
		case request := <-g.spec.asked():
			g.dump(request)
		case <-g.dumping.done:
			g.dumped()
		case <-reaper.Exits():
			reaper.ChildExited()
		case <-timer.C:
		}
		now := time.Now()
		g.awake(now, at)
		g.onTime(now)
	}
}

// stopTime is how late the loop wakes at least, if the agent was stopped.
const stopTime = time.Second

// awake is told when the loop has woken, and when it had to at the latest. An agent that is late was stopped, together
// with its workers: that time counts neither as silence nor as grace. What has woken it may have begun the end.
func (g *group) awake(now, at time.Time) {
	late := now.Sub(at)
	if late <= stopTime {
		return
	}
	g.resumed = now
	if !g.ending.precedes(at) {
		g.ending.delay(late)
	}
}

// busy reports whether there is still something to wait for.
func (g *group) busy() bool {
	switch {
	case g.ending.unkillable(time.Now()):
		return false
	case g.workers.running() > 0, g.dumping.inProgress() && !g.ending.killed():
		return true
	}
	return g.ending.begun() && !g.ending.killed() && g.workers.groupsAlive()
}

// take handles one event.
func (g *group) take(e event) {
	switch {
	case e.err != nil:
		if e.worker != nil {
			e.worker.lost()
		}
		g.abort(e.err)
	case e.failure != nil:
		g.fail(e.worker, e.failure, e.leaving, e.time)
	default:
		g.log.Debug("worker exited", zap.Int("rank", e.worker.Rank), zap.Int("code", e.exit.Code),
			zap.Stringer("signal", e.exit.Signal))
		if at, failed := e.worker.exited(*e.exit, e.time); failed {
			g.fail(e.worker, nil, true, at)
		} else if file := e.worker.fullDisk(); file != "" { // the worker has not checked its writes
			g.log.Warn("no space is left on the disk of a worker's output, which is incomplete",
				zap.Int("rank", e.worker.Rank), zap.String("file", file))
		}
	}
}

// fail notes a worker's failure, whose reason is nil when the worker just exited, and
// ends the group. A dump comes before that.
func (g *group) fail(w *worker, reason *report.Failure, leaving bool, at time.Time) {
	w.fail(reason, leaving, at)
	if w.consequence() {
		g.ending.settle(at)
		return
	}
	g.dumpFailure()
	g.afterDump(func() {
		if first, _ := w.failed(); g.spec.Failed != nil && g.ending.announce(first) {
			g.spec.Failed(g.attribution().firstSoFar())
		}
		g.end(syscall.SIGTERM, g.spec.Grace, nil)
	})
}

// onTime does what has become due.
func (g *group) onTime(now time.Time) {
	if g.ending.mustBegin(now) {
		g.end(syscall.SIGTERM, g.spec.Grace, nil)
	}
	if g.workers.running() == 0 && g.ending.begun() && !g.ending.interrupted() &&
		!procfs.GroupsAlive(g.attribution().interrupted()) {
		g.ending.leftoversOnly()
	}
	if g.ending.mustKill(now) && !g.abortPython() {
		g.kill()
	}
	if !g.ending.begun() && g.spec.Silence > 0 {
		g.failSilent(now)
	}
	g.checkSilence(now)
	g.spec.Lifeline.Reaper().Reap(now, g.workers.groups())
}

// failSilent declares workers hung that have not reported for too long.
func (g *group) failSilent(now time.Time) {
	for _, s := range g.workers.silent(g.spec.Silence, now, g.resumed) {
		phase, _ := s.lastReport()
		g.fail(s.worker, &report.Failure{
			Class:   report.Timeout,
			Phase:   phase,
			Message: fmt.Sprintf("hung: no report from it for %v", g.spec.Silence),
		}, false, s.since.Add(g.spec.Silence))
	}
}

// wakeAt returns when onTime has something to do next.
func (g *group) wakeAt() time.Time {
	now := time.Now()
	at := now.Add(longestWait)
	if g.workers.running() == 0 {
		at = now.Add(pollInterval)
	}
	if reap, due := g.spec.Lifeline.Reaper().DueAt(); due {
		at = earlier(at, reap)
	}
	at = g.ending.next(at)
	if !g.ending.begun() && g.spec.Silence > 0 {
		at = g.workers.silentAt(g.spec.Silence, at, g.resumed)
	}
	return g.silenceAt(now, at)
}

// abort ends the run because the agent cannot do its work.
func (g *group) abort(err error) {
	g.events.keep(err)
	g.end(syscall.SIGTERM, g.spec.Grace, nil)
}

// end tells the workers to end, once. A worker that has reported that it is about to
// exit gets no signal. SIGCONT lets a stopped process see the signal.
func (g *group) end(signal syscall.Signal, grace time.Duration, cause error) {
	if !g.ending.begin(time.Now(), signal, grace, cause) {
		return
	}
	if g.dumping.cancel != nil {
		g.dumping.cancel()
	}
	g.log.Debug("ending the workers", zap.Stringer("signal", signal), zap.Duration("grace", grace),
		zap.NamedError("cause", cause))
	for _, s := range []syscall.Signal{signal, syscall.SIGCONT} {
		for _, w := range g.workers {
			if !w.mayLeave() {
				g.send(w, s)
			}
		}
	}
}

// kill kills the workers' process groups, once.
func (g *group) kill() {
	if g.ending.kill(time.Now()) {
		for _, w := range g.workers {
			g.send(w, syscall.SIGKILL)
		}
	}
}

// send signals a worker's process group.
func (g *group) send(w *worker, signal syscall.Signal) {
	if err := w.signalGroup(signal); err != nil {
		g.log.Warn("cannot signal a worker", zap.Int("rank", w.Rank), zap.Int("pid", w.PID), zap.Stringer("signal", signal),
			zap.Error(err))
	}
}

// cleanUp kills what is left of the workers and reaps it.
func (g *group) cleanUp() {
	g.kill()
	g.dumping.abandon()
	for _, w := range g.workers {
		if w.running() {
			g.events.keep(fmt.Errorf("rank %d (pid %d) did not die of SIGKILL within %v: the kernel or a driver holds it",
				w.Rank, w.PID, killBound))
			continue
		}
		w.reap()
	}
	g.thread.Close()
	if err := g.spec.Lifeline.KillDescendants(); err != nil {
		g.events.keep(err)
	}
}

// drain waits for the rest of the output and of the reports. Until the run is
// interrupted, it waits without a bound for a slow reader of gpurun's own output.
func (g *group) drain(ctx context.Context) {
	err := g.readers.drain(ctx, g.workers, func(done <-chan struct{}) {
		if g.ending.interrupted() {
			return
		}
		select {
		case <-done:
		case <-ctx.Done():
		case <-g.spec.Signals:
		case <-g.spec.Lifeline.Gone():
		}
	})
	if err != nil {
		g.events.keep(err)
	}
}

// attribution judges the workers as they are now.
func (g *group) attribution() attribution {
	return attribution{workers: g.workers, ending: &g.ending, oomKills: g.oomKills}
}

func (g *group) outcome() *Outcome { return g.attribution().outcome() }

// err is what the agent itself could not do.
func (g *group) err() error { return g.events.err() }
