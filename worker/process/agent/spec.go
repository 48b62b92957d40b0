package agent

import (
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

	"gpurun/worker/process/guard"
	"gpurun/worker/process/output"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
)

// Spec says what to run and how.
type Spec struct {
	// Argv is the command of every worker, see package argv. "${local_rank}" in an
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
	// CPUs are those that each worker may run on, by local rank; nil: all.
	CPUs [][]int
	// Output says where one worker's streams go, when not just to Stdout and
	// Stderr. It may be nil.
	Output func(localRank int) (stdout, stderr output.Destination, err error)
	// ErrorFile returns the file in which one worker may record why it fails. The
	// file's time is then the time of the failure. It may be nil.
	ErrorFile func(localRank int) string
	// Stdin is every worker's standard input; nil: /dev/null. All workers share it, as
	// under torchrun, so that a debugger works in whichever rank stops.
	Stdin *os.File

	// Reports, when set, gives every worker a report pipe (see package report)
	// and receives their messages: one call at a time, in order for each rank.
	Reports func(rank int, m report.Message)
	// Failed, when set, is called when a worker's failure ends the run, before the other
	// workers are told to end. It is not called for a mere consequence. It is called
	// again when a worker fails that may have failed earlier. Its argument is the failure
	// to name, as far as is known then. It must not wait.
	Failed func(*Failure)
	// Silence, when positive, is how long a worker may go without a report
	// before it counts as hung. It needs Reports.
	Silence time.Duration

	// Dumps, when set, has the run say what its workers are doing, for example before it ends them.
	Dumps *Dumps

	// Grace is the time between SIGTERM and SIGKILL when a worker failed, and
	// SignalGrace when a signal ended the run. They default to DefaultGrace and
	// to Grace.
	Grace       time.Duration
	SignalGrace time.Duration
	// Signals are the signals that this process receives, see [signals.Catch]. The
	// first one that ends the run is passed on to the workers, a second one
	// kills them at once. It may be nil.
	Signals <-chan os.Signal
	// Handled are the signals that are passed on and end the run. It defaults to
	// [signals.Ending]; a signal of Ending that is not in Handled kills the
	// workers at once. SIGUSR1 and SIGUSR2, where they are not in Handled, are passed on
	// to the workers' first processes and end nothing. With Dumps, SIGUSR1 has a dump written, and is passed on to
	// those that catch it.
	Handled []syscall.Signal

	// Stdout and Stderr receive the workers' output. A write error ends the run.
	Stdout, Stderr io.Writer
	// Prefix returns the prefix of every line of a rank. It may be nil. A
	// single worker without a prefix has its bytes passed on as they come.
	Prefix func(rank int) string

	// Lifeline, when set, ends the run when the guard dies, and makes Run kill
	// everything that workers left behind. The process must then have no
	// children but those of Run. Without it Run ends process groups only.
	Lifeline *guard.Lifeline

	// Logger receives what the agent does. It may be nil.
	Logger *zap.Logger
}

// DefaultGrace is the time between SIGTERM and SIGKILL unless a Spec says
// otherwise.
const DefaultGrace = 5 * time.Second

// complete checks the Spec and fills in defaults.
func (s *Spec) complete() error {
	switch {
	case len(s.Argv) == 0:
		return errors.New("starting workers: no command")
	case s.Workers < 1:
		return fmt.Errorf("starting workers: %d workers, want at least 1", s.Workers)
	case s.Stdout == nil || s.Stderr == nil:
		return errors.New("starting workers: Stdout or Stderr is not set")
	case s.CPUs != nil && len(s.CPUs) < s.FirstLocalRank+s.Workers:
		return fmt.Errorf("starting workers: CPUs for %d workers, and the last one has local rank %d", len(s.CPUs),
			s.FirstLocalRank+s.Workers-1)
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
		s.Handled = signals.Ending()
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return nil
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

// cpus are those that a worker may run on, or nil for all.
func (s *Spec) cpus(localRank int) []int {
	if s.CPUs == nil {
		return nil
	}
	return s.CPUs[localRank]
}

// destinations returns where a worker's streams go.
func (s *Spec) destinations(localRank int) (stdout, stderr output.Destination, err error) {
	if s.Output == nil {
		return output.Destination{}, output.Destination{}, nil
	}
	if stdout, stderr, err = s.Output(localRank); err != nil {
		err = fmt.Errorf("opening files for its output: %w", err)
	}
	return stdout, stderr, err
}

// prefix returns the prefix of a worker's lines. Its bytes are passed on raw where there
// are no lines to tell apart.
func (s *Spec) prefix(localRank int) (prefix string, raw bool) {
	if s.Prefix != nil {
		prefix = s.Prefix(s.Rank(localRank))
	}
	return prefix, s.Workers == 1 && prefix == ""
}
