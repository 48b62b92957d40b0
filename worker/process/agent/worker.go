package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"gpurun/worker/process/argv"
	"gpurun/worker/process/report"
	"gpurun/worker/process/spawn"
)

// A worker is one process that Run started. It belongs to the group's loop, except for
// its activity and its streams.
type worker struct {
	identity
	activity
	streams

	cmd       *exec.Cmd
	errorFile string // may be empty
	startedAt time.Time
	heartbeat heartbeat
	exit      *spawn.ExitStatus // nil while it runs
	exitedAt  time.Time         // zero while it runs, and when it cannot be waited for
	failedAt  time.Time         // when it first failed, zero if it did not
	failure   *report.Failure   // the agent's own reason, or what the worker reported; may be nil
	leaving   bool              // the worker itself has reported that it is about to exit
}

// identity identifies a worker to other packages.
type identity struct {
	Rank, LocalRank int
	PID             int // also its process group and session
}

// newWorker makes a worker's command.
func newWorker(spec *Spec, localRank int) *worker {
	w := &worker{identity: identity{Rank: spec.Rank(localRank), LocalRank: localRank}}
	w.cmd = exec.Command(spec.Argv[0], spec.arguments(localRank)...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	w.cmd.Env = withoutReports(os.Environ())
	if spec.Env != nil {
		w.cmd.Env = append(w.cmd.Env, spec.Env(localRank)...)
	}
	if spec.Stdin != nil {
		w.cmd.Stdin = spec.Stdin
	}
	if spec.ErrorFile != nil {
		w.errorFile = spec.ErrorFile(localRank)
	}
	return w
}

// withoutReports is env without the report pipe of this process itself, which may be
// another agent's worker.
func withoutReports(env []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, report.FDVariable+"=") })
}

// start opens the worker's streams and starts its process.
func (w *worker) start(ctx context.Context, spec *Spec, to consoles, thread *spawn.Thread) error {
	err := w.streams.open(spec, w.LocalRank, to, w.cmd)
	w.startedAt = time.Now()
	if err == nil {
		err = argv.StartError(w.cmd.Path, thread.Start(ctx, w.cmd, spec.cpus(w.LocalRank)))
	}
	w.closeGiven()
	if err != nil {
		w.closePipes()
		w.closeFiles()
		return err
	}
	w.PID = w.cmd.Process.Pid
	w.activity.begin(time.Now())
	return nil
}

// running reports whether the worker has not exited.
func (w *worker) running() bool { return w.exit == nil }

// exited notes the worker's end, and returns when it failed, if it did.
func (w *worker) exited(status spawn.ExitStatus, at time.Time) (failedAt time.Time, failed bool) {
	w.exit, w.exitedAt = &status, at
	if status.Success() {
		return time.Time{}, false
	}
	if recorded, ok := w.recordedAt(); ok && recorded.Before(at) {
		return recorded, true
	}
	return at, true
}

// lost notes that the worker cannot be waited for. It counts as ended.
func (w *worker) lost() { w.exit = &spawn.ExitStatus{Code: -1} }

// fail notes a failure; the reason is nil when the worker just exited.
func (w *worker) fail(reason *report.Failure, leaving bool, at time.Time) {
	if w.failedAt.IsZero() {
		w.failedAt = at
	}
	if w.failure == nil {
		w.failure = reason
	}
	w.leaving = w.leaving || leaving
}

// failed returns when the worker first failed; false: it did not.
func (w *worker) failed() (at time.Time, ok bool) { return w.failedAt, !w.failedAt.IsZero() }

// reason returns why the worker failed, in its own words where it reported any, and nil
// where nothing is known but its exit.
func (w *worker) reason() *report.Failure {
	if w.failure != nil {
		return w.failure
	}
	return w.reportedFailure()
}

// consequence reports whether the worker's failure follows from another's.
func (w *worker) consequence() bool {
	reason := w.reason()
	return reason != nil && reason.Consequence
}

// rather reports whether this worker's failure is named instead of another's. A cause is named
// instead of a consequence; otherwise the earlier failure is named.
func (w *worker) rather(other *worker) bool {
	if w.consequence() != other.consequence() {
		return other.consequence()
	}
	return w.failedAt.Before(other.failedAt)
}

// mayLeave reports whether the worker still runs and has reported that it is about to exit.
func (w *worker) mayLeave() bool { return w.leaving && w.running() }

// recordedAt returns when the worker wrote its error file; false: it has not. A process
// that records an error may take long to exit, and workers that merely follow may exit
// before it.
func (w *worker) recordedAt() (time.Time, bool) {
	if w.errorFile == "" {
		return time.Time{}, false
	}
	info, err := os.Stat(w.errorFile)
	if err != nil || info.Size() == 0 {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// state returns how the worker ended.
func (w *worker) state() WorkerState {
	phase, _ := w.lastReport()
	state := WorkerState{
		Rank: w.Rank, LocalRank: w.LocalRank, PID: w.PID, Phase: phase,
		Stuck: w.running(), Started: w.startedAt, Exited: w.exitedAt,
	}
	if w.exit != nil {
		state.ExitCode, state.Signal = w.exit.Code, w.exit.Signal
	}
	return state
}

// describe gathers what the worker itself tells about its failure.
func (w *worker) describe() *Failure {
	end := w.state()
	f := &Failure{
		Rank: w.Rank, LocalRank: w.LocalRank, PID: w.PID, Time: w.failedAt,
		ExitCode: end.ExitCode, Signal: end.Signal, Phase: end.Phase,
		Report: w.reason(), LastStderr: w.lastStderr(), FullDisk: w.fullDisk(),
	}
	if _, ok := w.recordedAt(); ok {
		f.ErrorFile = w.errorFile
	}
	if f.Report != nil && f.Report.Phase != "" {
		f.Phase = f.Report.Phase
	}
	return f
}

// signalGroup signals the worker's process group, which exists until the worker
// is reaped, even if the worker itself has exited.
func (w *worker) signalGroup(signal syscall.Signal) error {
	if err := syscall.Kill(-w.PID, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// signalFirst signals the worker's first process alone.
func (w *worker) signalFirst(signal syscall.Signal) error {
	if err := w.cmd.Process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// reap reaps a process whose end is known.
func (w *worker) reap() { _ = w.cmd.Wait() }
