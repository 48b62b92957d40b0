// Package agent launches the workers of one node, watches them, and ends them.
//
// [Run] starts Spec.Workers processes, streams their output in whole lines,
// and returns when all have ended. The first failure ends the group: every
// other worker's process group gets SIGTERM, and after a grace SIGKILL.
// Workers are processes of their own session, so that a terminal's signals
// reach only gpurun, which passes them on once.
//
// Nothing may be left when a run is over, however it ends. [Guard] and
// [Lifeline] see to that, with two processes between the shell and the workers:
//
//	guard     the visible gpurun: forwards signals, waits for the agent, and
//	          kills whatever is reparented to it
//	agent     the same binary, executed again: calls Run
//	workers   die with the agent (PR_SET_PDEATHSIG)
//
// Both are subreapers (PR_SET_CHILD_SUBREAPER): a process whose parent dies
// becomes a child of the nearest one that lives, whatever session or group it
// moved to, and is found there. The agent learns of the guard's death by the
// lifeline, a pipe of which the guard holds the only writing end.
//
// The package knows nothing of collectives, flags, or configuration.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/report"
)

// Spec says what to run and how.
type Spec struct {
	// Argv is the command of every worker, see [Command]. "${local_rank}" in an
	// argument stands for the worker's local rank.
	Argv []string
	// Workers is the number of local workers. Their ranks are FirstRank up to
	// FirstRank+Workers-1.
	Workers   int
	FirstRank int
	// FirstLocalRank is the first one's local rank: 0, unless other agents have
	// workers on this machine too.
	FirstLocalRank int

	// Env returns what is added to the agent's own environment for one worker.
	// It may be nil.
	Env func(localRank int) []string
	// ExtraFiles returns the files that one worker finds as descriptors 3, 4,
	// and so on. The agent closes them. It may be nil.
	ExtraFiles func(localRank int) ([]*os.File, error)
	// CPUs are those that each worker may run on, by local rank. When it is nil, they
	// may run on all.
	CPUs [][]int
	// Output says where one worker's streams go, when not just to Stdout and
	// Stderr. It may be nil.
	Output func(localRank int) (stdout, stderr Output, err error)
	// ErrorFile returns the file in which one worker may record why it fails. The
	// time at which it does so is that of its failure. It may be nil.
	ErrorFile func(localRank int) string
	// Stdin is every worker's standard input. When it is nil, that is
	// /dev/null. All workers share it, as under torchrun, so that a debugger
	// works in whichever rank stops.
	Stdin *os.File

	// Reports, when set, gives every worker a report pipe (see package report)
	// and receives their messages: one call at a time, in order for each rank.
	Reports func(rank int, m report.Message)
	// Failed, when set, is called when a worker's failure ends the run, before the others
	// are told to end, but not for a mere consequence; and again when one fails that
	// may have done so earlier. It gets the failure that is to be named as far as is known
	// then. It must not wait. It may be nil.
	Failed func(*Failure)
	// Silence, when positive, is how long a worker may go without a report
	// before it counts as hung. It needs Reports.
	Silence time.Duration

	// Grace is the time between SIGTERM and SIGKILL when a worker failed, and
	// SignalGrace when a signal ended the run. They default to DefaultGrace and
	// to Grace.
	Grace       time.Duration
	SignalGrace time.Duration
	// Signals are the signals that this process receives, see [Catch]. The
	// first one that ends the run is passed on to the workers, a second one
	// kills them at once. It may be nil.
	Signals <-chan os.Signal
	// Handled are the signals that are passed on and end the run. It defaults to
	// SIGTERM, SIGINT, SIGHUP and SIGQUIT; one of these that is not in it kills the
	// workers at once. SIGUSR1 and SIGUSR2, where they are not in it, are passed on to the
	// workers' first processes and end nothing.
	Handled []syscall.Signal

	// Stdout and Stderr receive the workers' output. A write error ends the run.
	Stdout, Stderr io.Writer
	// Prefix returns what stands before every line of a rank. It may be nil. A
	// single worker without a prefix has its bytes passed on as they come.
	Prefix func(rank int) string

	// Lifeline, when set, ends the run when the guard dies, and makes Run kill
	// everything that workers left behind. The process must then have no
	// children but those of Run. Without it Run ends process groups only.
	Lifeline *Lifeline

	// Logger receives what the agent does. It may be nil.
	Logger *zap.Logger
}

// DefaultGrace is the time between SIGTERM and SIGKILL unless a Spec says
// otherwise.
const DefaultGrace = 5 * time.Second

// Run starts the workers and returns when all have ended, or when one could
// not be ended. The end of ctx ends the run like a signal; where its cause is a
// [Signalled], workers get that signal, and otherwise SIGTERM.
//
// An error means that Run could not do its own work: start a worker, write
// output, or clean up. What the workers did is in the Outcome, which is nil
// only when the Spec is not valid.
func Run(ctx context.Context, spec Spec) (*Outcome, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	g := newGroup(spec)
	g.start(ctx)
	g.watch(ctx)
	g.cleanUp()
	g.drain(ctx)
	return g.outcome(), g.err()
}

// complete checks the Spec and fills in defaults.
func (s *Spec) complete() error {
	switch {
	case len(s.Argv) == 0:
		return errors.New("starting workers: no command")
	case s.Workers < 1:
		return fmt.Errorf("starting workers: %d workers, want at least 1", s.Workers)
	case s.Stdout == nil || s.Stderr == nil:
		return errors.New("starting workers: no place for their output")
	case s.CPUs != nil && len(s.CPUs) < s.FirstLocalRank+s.Workers:
		return fmt.Errorf("starting workers: CPUs for %d workers, and the last one has local rank %d", len(s.CPUs), s.FirstLocalRank+s.Workers-1)
	case s.Silence > 0 && s.Reports == nil:
		return errors.New("starting workers: a limit on silence needs reports")
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	if s.SignalGrace <= 0 {
		s.SignalGrace = s.Grace
	}
	if s.Handled == nil {
		s.Handled = endingSignals()
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return nil
}

// prefix returns what stands before the lines of a rank.
func (s *Spec) prefix(rank int) string {
	if s.Prefix == nil {
		return ""
	}
	return s.Prefix(rank)
}

// cpus are those that a worker may run on, or nil for all.
func (s *Spec) cpus(localRank int) []int {
	if s.CPUs == nil {
		return nil
	}
	return s.CPUs[localRank]
}

// Rank is the rank of the worker with a local rank.
func (s *Spec) Rank(localRank int) int { return s.FirstRank + localRank - s.FirstLocalRank }

// arguments are those of one worker's command.
func (s *Spec) arguments(localRank int) []string {
	arguments := slices.Clone(s.Argv[1:])
	for i, argument := range arguments {
		arguments[i] = strings.ReplaceAll(argument, "${local_rank}", strconv.Itoa(localRank))
	}
	return arguments
}
