package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/report"
)

// A group is the workers of one Run. One goroutine, Run's, owns it and decides;
// others wait for processes and read pipes, and tell it by events.
type group struct {
	spec    Spec
	log     *zap.Logger
	workers []*worker
	running int // workers that have not exited
	spawner *spawner
	events  chan event
	ended   chan struct{} // closed when nobody receives events any more
	readers sync.WaitGroup
	telling sync.Mutex // held while calling Reports
	// Held while writing to Stdout and Stderr; one lock if they are one file.
	stdout, stderr *sync.Mutex

	stop     stop
	oomKills oomCounter

	troubleLock sync.Mutex
	troubles    []error // what the agent itself could not do
}

// An event is what the loop is told: an exit, a failure, or an error.
type event struct {
	worker  *worker
	time    time.Time
	exit    *exitStatus
	failure *report.Failure
	leaving bool  // with failure: the worker said so itself
	err     error // the agent's own trouble
}

func newGroup(spec Spec) *group {
	stdout, stderr := new(sync.Mutex), new(sync.Mutex)
	if sameFile(spec.Stdout, spec.Stderr) {
		stderr = stdout
	}
	return &group{
		spec:     spec,
		stdout:   stdout,
		stderr:   stderr,
		log:      spec.Logger,
		spawner:  newSpawner(),
		events:   make(chan event),
		ended:    make(chan struct{}),
		oomKills: countOOMKills(),
	}
}

// start starts the workers. When one cannot be started, or ctx ends, it leaves
// out the rest.
func (g *group) start(ctx context.Context) {
	for worker := range g.spec.Workers {
		localRank := g.spec.FirstLocalRank + worker
		if ctx.Err() != nil {
			g.interrupt(context.Cause(ctx))
			return
		}
		if err := g.launch(ctx, localRank); err != nil {
			rank := g.spec.Rank(localRank)
			g.abort(fmt.Errorf("starting rank %d: %w", rank, err))
			return
		}
	}
}

// launch starts one worker and what watches it.
func (g *group) launch(ctx context.Context, localRank int) error {
	w, opened := g.open(localRank)
	err := opened.err
	w.startedAt = time.Now()
	if err == nil {
		err = g.spawner.start(ctx, request{cmd: w.cmd, cpus: g.spec.cpus(localRank)})
	}
	closeAll(opened.given...)
	if err != nil {
		closeAll(append(w.pipes(), w.toStdout.File, w.toStderr.File)...)
		return err
	}
	w.pid = w.cmd.Process.Pid
	w.heard = time.Now()
	g.workers = append(g.workers, w)
	g.running++
	g.log.Debug("worker started", zap.Int("rank", w.rank), zap.Int("pid", w.pid))

	prefix := g.spec.prefix(w.rank)
	raw := g.spec.Workers == 1 && prefix == ""
	g.pass(&stream{in: w.stdout, to: w.toStdout, out: g.spec.Stdout, turn: g.stdout, prefix: prefix, raw: raw})
	g.pass(&stream{in: w.stderr, to: w.toStderr, out: g.spec.Stderr, turn: g.stderr, prefix: prefix, raw: raw, tail: &w.tail})
	reported := make(chan struct{})
	g.readers.Go(func() {
		defer close(reported)
		g.readReports(w)
	})
	go g.awaitExit(w, reported)
	return nil
}

func (g *group) pass(s *stream) {
	if s.in == nil {
		return // the worker writes to a file itself
	}
	g.readers.Go(func() {
		s.copy(func(err error) { g.tell(event{err: err}) })
	})
}

// tell hands an event to the loop. When that no longer runs, only errors matter.
func (g *group) tell(e event) {
	if e.time.IsZero() {
		e.time = time.Now()
	}
	select {
	case g.events <- e:
	case <-g.ended:
		if e.err != nil {
			g.trouble(e.err)
		}
	}
}

// trouble notes that the agent could not do its own work.
func (g *group) trouble(err error) {
	g.troubleLock.Lock()
	defer g.troubleLock.Unlock()
	g.troubles = append(g.troubles, err)
}

// err returns the noted troubles.
func (g *group) err() error {
	g.troubleLock.Lock()
	defer g.troubleLock.Unlock()
	return errors.Join(g.troubles...)
}

// reportBound is how long a worker's exit waits for the end of its reports.
const reportBound = 250 * time.Millisecond

// awaitExit tells of the worker's exit, after everything that it reported: its
// own words say better than its exit code why it failed.
func (g *group) awaitExit(w *worker, reported <-chan struct{}) {
	status, err := waitExit(w.pid)
	at := time.Now()
	if err != nil {
		g.tell(event{worker: w, err: err})
		return
	}
	select {
	case <-reported:
	case <-time.After(reportBound):
	}
	g.tell(event{worker: w, exit: &status, time: at})
}

// readReports reads one worker's reports to the end.
func (g *group) readReports(w *worker) {
	if w.reports == nil {
		return
	}
	reader := report.NewReader(untilDeadline(w.reports), w.rank)
	for {
		m, err := reader.Next()
		var garbage *report.LineError
		switch {
		case errors.As(err, &garbage):
			g.tell(event{worker: w, failure: &report.Failure{Class: report.Internal, Message: err.Error()}})
			continue
		case err == io.EOF, err == io.ErrUnexpectedEOF: // it died, perhaps in the middle of a line
			return
		case err != nil:
			g.tell(event{err: fmt.Errorf("reading the reports of rank %d: %w", w.rank, err)})
			return
		}
		at := time.Now()
		w.note(m, at)
		if m.Kind == report.KindFailure {
			g.tell(event{worker: w, failure: m.Failure, leaving: true, time: at})
		}
		g.deliver(w.rank, m)
	}
}

func (g *group) deliver(rank int, m report.Message) {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.spec.Reports(rank, m)
}

// abort ends the run because the agent cannot do its work.
func (g *group) abort(err error) {
	g.trouble(err)
	g.end(syscall.SIGTERM, g.spec.Grace, nil)
}

// signalAll signals the process groups of workers that want chooses.
func (g *group) signalAll(signal syscall.Signal, want func(*worker) bool) {
	for _, w := range g.workers {
		if !want(w) {
			continue
		}
		if err := w.signalGroup(signal); err != nil {
			g.log.Warn("cannot signal a worker", zap.Int("rank", w.rank), zap.Int("pid", w.pid),
				zap.Stringer("signal", signal), zap.Error(err))
		}
	}
}

// passOn signals the workers' first processes and not their groups: a shell or
// a data loader between would die of SIGUSR1.
func (g *group) passOn(signal os.Signal) {
	for _, w := range g.workers {
		if w.exit == nil {
			if err := w.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
				g.log.Warn("cannot pass a signal on", zap.Int("rank", w.rank), zap.Stringer("signal", signal), zap.Error(err))
			}
		}
	}
}
