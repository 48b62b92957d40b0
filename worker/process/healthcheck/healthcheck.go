// Package healthcheck runs a command that says whether this machine is fit to run workers.
package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/signals"
	"gpurun/worker/process/spawn"
)

// Check is a command and its bounds. The machine is fit if the command exits with 0 in time.
type Check struct {
	Name    string // for messages
	Path    string // of the program; Argv[0] need not be the same
	Argv    []string
	Env     []string
	Timeout time.Duration
}

// killAfter is the time that a check has to end after SIGTERM, and its output to be closed after its end.
const killAfter = 2 * time.Second

// Failure says why a machine is not fit.
type Failure struct {
	Name   string
	Reason string
	Output []byte // the end of stdout and stderr
}

func (f *Failure) Error() string { return fmt.Sprintf("the health check %q %s", f.Name, f.Reason) }

// Run runs the check in a process group of its own, of which nothing is left. The error is a *Failure if the machine is
// not fit, and the cause of ctx's end if that came first.
func (c Check) Run(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var last tail
	cmd := exec.CommandContext(bounded, c.Path)
	cmd.Args, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Argv, c.Env, &last, &last, killAfter
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	thread := spawn.NewThread() // the process dies with it
	defer thread.Close()
	if err := thread.Start(bounded, cmd, nil); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &Failure{Name: c.Name, Reason: "cannot run: " + err.Error()}
	}
	err := cmd.Wait()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // most often nobody is left
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return last.failure(c.Name, fmt.Sprintf("did not end within %v", c.Timeout))
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a descendant kept its output open
		return nil
	}
	return last.failure(c.Name, ended(err))
}

// ended says how a process ended that did not succeed.
func ended(err error) string {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return "failed: " + err.Error()
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "was killed by " + signals.Name(status.Signal())
	}
	return fmt.Sprintf("exited with code %d", exit.ExitCode())
}
