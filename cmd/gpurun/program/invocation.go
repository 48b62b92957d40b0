// Package program is what all work of one invocation of gpurun shares: its streams and words,
// the two processes that it takes, its log and its version.
package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/process/crash"
	"gpurun/worker/process/guard"
)

// Invocation is one invocation of gpurun, in the guard or in the agent.
type Invocation struct {
	In       *os.File
	Out, Err io.Writer
	Args     []string         // the program first
	Signals  <-chan os.Signal // those that this process receives
	// Lifeline is set in the agent, the process that does the work; see Guarded.
	Lifeline *guard.Lifeline
}

// Unchanged is standard output for what launched programs write, which passes unchanged.
func (a *Invocation) Unchanged() io.Writer {
	if painter, ok := a.Out.(interface{ Unchanged() io.Writer }); ok {
		return painter.Unchanged()
	}
	return a.Out
}

// Name is what the user calls this program.
func (a *Invocation) Name() string { return filepath.Base(a.Args[0]) }

// Guarded runs work in a second process, the agent, which this one guards: it
// sees to it that nothing is left of the agent's work, however it ends. In the
// agent it calls work. See package agent.
func (a *Invocation) Guarded(work func() error) error {
	if a.Lifeline != nil {
		return work()
	}
	if err := crash.Check(); err != nil {
		return &exit.EnvironmentError{Err: err}
	}
	code, err := guard.Run(a.Signals, func(text string) { fmt.Fprintf(a.Err, "gpurun: %s\n", text) })
	var crashed *crash.Error
	switch {
	case errors.As(err, &crashed):
		return &exit.EnvironmentError{Err: crashed}
	case guard.Said(err):
		return &exit.Error{Code: exit.Code(err), Said: err.Error()}
	case code == 0 && err != nil:
		return &exit.EnvironmentError{Err: err}
	}
	return &exit.Error{Code: code, Err: err}
}

// Self is the command line of this program.
func Self(args ...string) ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the gpurun executable: %w", err)
	}
	return append([]string{path}, args...), nil
}
