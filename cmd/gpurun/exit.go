package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"gpurun/worker/agent"
	"gpurun/worker/launcher"
	"gpurun/worker/report"
)

// Exit codes. A command that gpurun launches decides its own: gpurun ends with
// the code of the worker that failed first. On signal n the code is 128+n.
const (
	exitOK          = 0
	exitWrongData   = 1
	exitUsage       = 2
	exitEnvironment = 3 // no GPU, too few GPUs, a library or right is missing
	exitTimeout     = 4 // something hung
	exitWorkerDied  = 5
	exitRendezvous  = 6
	exitThreshold   = 99  // all verified, and slower than allowed
	exitNotRunnable = 126 // as of a shell: a command that is not executable
	exitNotFound    = 127 // as of a shell: a command that is not there
	exitSignalled   = 128 // and the signal's number
)

// usageError is a command line, environment variable or configuration file
// that makes no sense. hint, if any, says where to read more.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// environmentError is something that the machine lacks.
type environmentError struct{ err error }

func (e *environmentError) Error() string { return e.err.Error() }
func (e *environmentError) Unwrap() error { return e.err }

// exitError asks for an exit code. err is nil when all has been said; said may
// repeat it in short.
type exitError struct {
	code int
	err  error
	said string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// describe returns what is left to be said about an error.
func describe(err error) string {
	var exit *exitError
	var usage *usageError
	switch {
	case err == nil, errors.As(err, &exit) && exit.err == nil:
		return ""
	case errors.As(err, &usage) && usage.hint != "":
		return err.Error() + "\n" + usage.hint
	}
	return err.Error()
}

// exitCode decides how gpurun ends.
func exitCode(err error) int {
	var (
		exit     *exitError
		usage    *usageError
		notFound *agent.NotFound
		signal   agent.Signalled
		meeting  *launcher.MeetingError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &signal):
		return exitSignalled + int(signal.Signal)
	case errors.As(err, &meeting):
		return exitRendezvous
	case errors.As(err, &notFound) && errors.Is(err, fs.ErrPermission):
		return exitNotRunnable
	case errors.As(err, &notFound):
		return exitNotFound
	}
	// What remains is the operating system refusing something.
	return exitEnvironment
}

// classCode is the exit code for a class of failure.
func classCode(class report.Class) int {
	switch class {
	case report.WrongData:
		return exitWrongData
	case report.Usage:
		return exitUsage
	case report.Environment:
		return exitEnvironment
	case report.Timeout:
		return exitTimeout
	case report.Rendezvous:
		return exitRendezvous
	}
	return exitWorkerDied
}

// worse is the exit code that says more: of a signal, or else of wrong data, then
// of what ended the run, then of what the machine lacks, then of a threshold.
func worse(a, b int) int {
	order := []int{exitOK, exitThreshold, exitEnvironment, exitRendezvous, exitWorkerDied, exitTimeout, exitWrongData}
	severity := func(code int) int {
		if i := slices.Index(order, code); i >= 0 {
			return i
		}
		return len(order)
	}
	if severity(b) > severity(a) {
		return b
	}
	return a
}

// collectiveCode is the exit code of a collective whose workers ended so.
func collectiveCode(o *agent.Outcome) int {
	switch {
	case o.First != nil && o.First.Report != nil:
		return classCode(o.First.Report.Class)
	case o.First != nil:
		return exitWorkerDied
	case o.Cause != nil && o.Signal == 0:
		return exitEnvironment
	}
	return o.ExitCode()
}
