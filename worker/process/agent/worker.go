package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gpurun/worker/process/report"
)

// A worker is one process that Run started. Its fields below mu are shared with
// the goroutine that reads its reports; what stands above belongs to the
// group's loop.
type worker struct {
	rank, localRank int
	cmd             *exec.Cmd
	pid             int // also its process group and session

	startedAt time.Time
	exit      *exitStatus // nil while it runs
	exitedAt  time.Time   // zero while it runs
	failedAt  time.Time   // when it first failed, zero if it did not
	failure   *report.Failure
	// leaving is set when the worker itself has said that it is about to exit.
	leaving bool

	stdout, stderr, reports *os.File // reading ends; nil where there is no pipe
	toStdout, toStderr      Output
	tail                    tail
	errorFile               string // may be empty

	mu    sync.Mutex
	phase string
	heard time.Time       // when it last gave a sign of life
	own   *report.Failure // the first that it reported itself
}

// opening is what open has opened so far for a worker.
type opening struct {
	given []*os.File // the agent must close them once the worker has started, or has not
	err   error
}

// pipe makes a pipe of which the worker gets the writing end.
func (o *opening) pipe() (read, write *os.File) {
	read, write, err := os.Pipe()
	if err != nil {
		o.err = errors.Join(o.err, fmt.Errorf("making a pipe: %w", err))
		return nil, nil
	}
	o.given = append(o.given, write)
	return read, write
}

// stream returns what the worker writes a stream to, and what the agent reads
// it from: nothing where the worker writes to a file itself.
func (o *opening) stream(to Output) (read, write *os.File) {
	if to.direct() {
		o.given = append(o.given, to.File)
		return nil, to.File
	}
	return o.pipe()
}

// open makes the worker's command and pipes.
func (g *group) open(localRank int) (*worker, *opening) {
	w, o := &worker{rank: g.spec.Rank(localRank), localRank: localRank}, &opening{}
	w.cmd = exec.Command(g.spec.Argv[0], g.spec.arguments(localRank)...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	w.cmd.Env = withoutReports(os.Environ())
	if g.spec.Env != nil {
		w.cmd.Env = append(w.cmd.Env, g.spec.Env(localRank)...)
	}
	if g.spec.Stdin != nil {
		w.cmd.Stdin = g.spec.Stdin
	}
	if g.spec.ErrorFile != nil {
		w.errorFile = g.spec.ErrorFile(localRank)
	}
	if g.spec.ExtraFiles != nil {
		if o.given, o.err = g.spec.ExtraFiles(localRank); o.err != nil {
			o.err = fmt.Errorf("opening its files: %w", o.err)
			return w, o
		}
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, o.given...)
	}
	g.connect(w, o)
	return w, o
}

// connect opens what the worker's streams and reports go to.
func (g *group) connect(w *worker, o *opening) {
	var err error
	if w.toStdout, w.toStderr, err = g.spec.outputs(w.localRank); err != nil {
		o.err = err
		return
	}
	var stdout, stderr *os.File
	w.stdout, stdout = o.stream(w.toStdout)
	w.stderr, stderr = o.stream(w.toStderr)
	w.cmd.Stdout, w.cmd.Stderr = stdout, stderr
	if g.spec.Reports != nil {
		var reports *os.File
		w.reports, reports = o.pipe()
		fd := 3 + len(w.cmd.ExtraFiles)
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, reports)
		w.cmd.Env = append(w.cmd.Env, report.FDVariable+"="+strconv.Itoa(fd))
	}
}

// withoutReports is env without the report pipe of this process itself, should
// it be another agent's worker.
func withoutReports(env []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, report.FDVariable+"=") })
}

// signalGroup signals the worker's process group, which exists until the worker
// is reaped, even if the worker itself has exited.
func (w *worker) signalGroup(signal syscall.Signal) error {
	return ignoreGone(syscall.Kill(-w.pid, signal))
}

// ignoreGone is for signals to processes that may have ended already.
func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// note takes down what a message says about the worker's state.
func (w *worker) note(m report.Message, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = now
	switch {
	case m.Kind == report.KindPhase:
		w.phase = m.Phase
	case m.Kind == report.KindFailure && w.own == nil:
		w.own = m.Failure
	}
}

// state returns the worker's phase and when it was last heard.
func (w *worker) state() (phase string, heard time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase, w.heard
}

// reported returns why the worker failed, in its own words where it found any,
// and nil where nothing is known but its exit.
func (w *worker) reported() *report.Failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return w.failure
	}
	return w.own
}

// pipes returns the reading ends of the worker's pipes.
func (w *worker) pipes() []*os.File {
	return slices.DeleteFunc([]*os.File{w.stdout, w.stderr, w.reports}, func(pipe *os.File) bool { return pipe == nil })
}

// closeAll closes files, some of which may be nil.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			file.Close()
		}
	}
}
