package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"gpurun/worker/process/output"
	"gpurun/worker/process/report"
	"gpurun/worker/process/spawn"
)

const (
	// reportBound is how long a worker's exit waits for the end of its reports.
	reportBound = 250 * time.Millisecond
	// pipeBound is how long a pipe may stay open that a process outside the
	// agent's reach has inherited.
	pipeBound = 200 * time.Millisecond
	// outputBound is how long an interrupted run waits for a reader of its output.
	outputBound = time.Second
)

// readers are the goroutines that read the workers' pipes and wait for their exits.
type readers struct {
	events     *events
	reports    func(rank int, m report.Message)
	delivering sync.Mutex // held while calling reports
	reading    sync.WaitGroup
}

// attach reads a worker's pipes to their ends, and waits for the worker's exit.
func (r *readers) attach(w *worker) {
	for _, stream := range w.piped() {
		r.reading.Go(func() {
			stream.Copy(func(err error) { r.events.send(event{err: err}) })
		})
	}
	reported := make(chan struct{})
	r.reading.Go(func() {
		defer close(reported)
		if pipe := w.reportPipe(); pipe != nil {
			r.readReports(w, pipe)
		}
	})
	go r.awaitExit(w, reported)
}

// awaitExit sends the worker's exit after all of the worker's reports: a report explains a failure
// better than the exit code.
func (r *readers) awaitExit(w *worker, reported <-chan struct{}) {
	status, err := spawn.Wait(w.PID)
	at := time.Now()
	if err != nil {
		r.events.send(event{worker: w, err: err})
		return
	}
	select {
	case <-reported:
	case <-time.After(reportBound):
	}
	r.events.send(event{worker: w, exit: &status, time: at})
}

// readReports reads one worker's reports to the end.
func (r *readers) readReports(w *worker, pipe *os.File) {
	reader := report.NewReader(output.UntilDeadline(pipe), w.Rank)
	for {
		m, err := reader.Next()
		var unreadable *report.LineError
		switch {
		case errors.As(err, &unreadable):
			r.events.send(event{worker: w, failure: &report.Failure{Class: report.Internal, Message: err.Error()}})
			continue
		case err == io.EOF, err == io.ErrUnexpectedEOF: // it died, perhaps in the middle of a line
			return
		case err != nil:
			r.events.send(event{err: fmt.Errorf("reading the reports of rank %d: %w", w.Rank, err)})
			return
		}
		at := time.Now()
		w.note(m, at)
		if m.Kind == report.KindFailure {
			r.events.send(event{worker: w, failure: m.Failure, leaving: true, time: at})
		}
		r.deliver(w.Rank, m)
	}
}

func (r *readers) deliver(rank int, m report.Message) {
	r.delivering.Lock()
	defer r.delivering.Unlock()
	r.reports(rank, m)
}

// drain waits until the pipes have been read, and closes them. Once the run is interrupted, the
// wait is bounded.
func (r *readers) drain(ctx context.Context, all workers, untilInterrupted func(done <-chan struct{})) error {
	deadline := time.Now().Add(pipeBound)
	for _, w := range all {
		defer w.closePipes()
		for _, pipe := range w.pipes() {
			// An error means that the pipe is closed: then there is nothing to wait for.
			_ = pipe.SetReadDeadline(deadline)
		}
	}
	done := make(chan struct{})
	go func() {
		r.reading.Wait()
		close(done)
	}()
	untilInterrupted(done)
	select {
	case <-done:
		return nil
	case <-time.After(outputBound):
	}
	err := fmt.Errorf("the rest of the workers' output is lost: its reader did not read for %v", outputBound)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}
