// Package status tells the launcher what a rank does, how far it is, and what it found.
package status

import (
	"fmt"
	"time"

	"gpurun/worker/process/report"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
)

// KeepAliveInterval is much shorter than the silence after which the launcher declares a worker hung.
const KeepAliveInterval = 5 * time.Second

// Reporter is one rank's way to report. Only Begin, Beside and Steps are safe for concurrent use.
type Reporter struct {
	writer    *report.Writer
	phases    *phases.Recorder
	activity  string
	announced time.Time
	steps     Steps
}

// New returns a reporter that sends by w and notes phases in p. p may be nil: then phases
// are not noted.
func New(w *report.Writer, p *phases.Recorder) *Reporter { return &Reporter{writer: w, phases: p} }

// Announce says what the rank does from now on, such as "timing allreduce". The launcher
// names this activity if the rank fails or falls silent.
func (r *Reporter) Announce(format string, args ...any) error {
	r.activity, r.announced = fmt.Sprintf(format, args...), time.Now()
	return r.writer.Phase(r.activity)
}

// Steps are the steps of this rank.
func (r *Reporter) Steps() *Steps { return &r.steps }

// Activity is what was announced last.
func (r *Reporter) Activity() string { return r.activity }

// KeepAlive repeats the announcement if KeepAliveInterval has passed since. Call it only
// after progress: a rank that hangs must fall silent.
func (r *Reporter) KeepAlive() error {
	if time.Since(r.announced) < KeepAliveInterval {
		return nil
	}
	return r.Announce("%s", r.activity)
}

// Progress says how many of the job's measurements are done.
func (r *Reporter) Progress(done, total int) error { return r.writer.Progress(done, total) }

// Result sends a part of the job's results.
func (r *Reporter) Result(u result.Update) error { return r.writer.Result(u) }

// Begin notes that a phase of the run begins, see [phases.Recorder.Begin].
func (r *Reporter) Begin(p phases.Phase) { r.phases.Begin(p) }

// Beside notes a phase that runs beside the others until end is called.
func (r *Reporter) Beside(p phases.Phase) (end func()) { return r.phases.Concurrent(p) }

// SendPhases sends the phases, if they are noted.
func (r *Reporter) SendPhases() error {
	if r.phases == nil {
		return nil
	}
	return r.Result(result.Update{Phases: r.phases.Spans()})
}
