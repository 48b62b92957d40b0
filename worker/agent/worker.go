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

	"gpurun/worker/report"
)

// A worker is one process that Run started. Its fields below mu are shared with
// the goroutine that reads its reports; what stands above belongs to the
// group's loop.
type worker struct {
	rank, localRank int
	cmd             *exec.Cmd
	pid             int // also its process group and session

	exit     *exitStatus // nil while it runs
	failedAt time.Time   // when it first failed, zero if it did not
	failure  *report.Failure
	// leaving is set when the worker itself has said that it is about to exit.
	leaving bool

	stdout, stderr, reports *os.File // reading ends; reports may be nil
	tail                    tail

	mu    sync.Mutex
	phase string
	heard time.Time       // when it last gave a sign of life
	own   *report.Failure // the first that it reported itself
}

// open makes the worker's command and pipes. The second result is the files
// that the agent must close once the worker has started, or has not.
func (g *group) open(localRank int) (w *worker, given []*os.File, err error) {
	w = &worker{rank: g.spec.FirstRank + localRank, localRank: localRank}
	w.cmd = exec.Command(g.spec.Argv[0], g.spec.Argv[1:]...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	w.cmd.Env = withoutReports(os.Environ())
	if g.spec.Env != nil {
		w.cmd.Env = append(w.cmd.Env, g.spec.Env(localRank)...)
	}
	if g.spec.Stdin != nil {
		w.cmd.Stdin = g.spec.Stdin
	}
	if g.spec.ExtraFiles != nil {
		if given, err = g.spec.ExtraFiles(localRank); err != nil {
			return w, given, fmt.Errorf("opening its files: %w", err)
		}
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, given...)
	}
	pipe := func() (read, write *os.File) {
		read, write, pipeErr := os.Pipe()
		if pipeErr != nil {
			err = errors.Join(err, fmt.Errorf("making a pipe: %w", pipeErr))
			return nil, nil
		}
		given = append(given, write)
		return read, write
	}
	var out, errOut, reports *os.File
	w.stdout, out = pipe()
	w.stderr, errOut = pipe()
	w.cmd.Stdout, w.cmd.Stderr = out, errOut
	if g.spec.Reports != nil {
		w.reports, reports = pipe()
		fd := 3 + len(w.cmd.ExtraFiles)
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, reports)
		w.cmd.Env = append(w.cmd.Env, report.FDVariable+"="+strconv.Itoa(fd))
	}
	return w, given, err
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
	if w.reports == nil {
		return []*os.File{w.stdout, w.stderr}
	}
	return []*os.File{w.stdout, w.stderr, w.reports}
}

// closeAll closes files, some of which may be nil.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			file.Close()
		}
	}
}
