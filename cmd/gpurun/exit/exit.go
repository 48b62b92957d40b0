// Package exit has the exit codes, the errors that carry them, and the message of an error that has not been printed
// yet.
package exit

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/argv"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/launcher"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
)

// Exit codes. A command that gpurun launches decides its own: gpurun ends with
// the code of the worker that failed first. On signal n the code is 128+n.
const (
	OK          = 0
	WrongData   = 1
	Usage       = 2
	Environment = 3 // a library or right is missing, or GPUs that a collective, smoke or doctor needs
	Timeout     = 4 // something hung
	WorkerDied  = 5
	Rendezvous  = 6
	Incomplete  = 7   // gpurun check has found nothing, and has not checked everything
	Threshold   = 99  // all verified, and slower than allowed
	NotRunnable = 126 // as of a shell: a command that is not executable, or a folder
	NotFound    = 127 // as of a shell: a command that is not there
	Signaled    = 128 // and the signal's number

	// Codes that no worker's own exit has, see OfCommand.
	UnfitMachine = 220 // this machine: a GPU failed, or a launched command finds no GPU or a failed health check
	NodeLost     = 221 // another machine of the job
)

// UsageError is a command line, environment variable or configuration file
// that makes no sense. Hint, if any, says where to read more.
type UsageError struct {
	Err  error
	Hint string
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// EnvironmentError is something that the machine lacks.
type EnvironmentError struct{ Err error }

func (e *EnvironmentError) Error() string { return e.Err.Error() }
func (e *EnvironmentError) Unwrap() error { return e.Err }

// Error is an error with an exit code. Err is nil if the message has been printed; Said may have a summary of it.
type Error struct {
	Code int
	Err  error
	Said string
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Describe returns the message that is still to be printed for an error.
func Describe(err error) string {
	var exit *Error
	var usage *UsageError
	switch {
	case err == nil, errors.As(err, &exit) && exit.Err == nil, guard.Said(err):
		return ""
	case errors.As(err, &usage) && usage.Hint != "":
		return err.Error() + "\n" + usage.Hint
	}
	return err.Error()
}

// Code decides how gpurun ends.
func Code(err error) int {
	var (
		exit     *Error
		usage    *UsageError
		notFound *argv.NotFound
		signal   signals.Received
		meeting  *launcher.MeetingError
		unfit    *launcher.UnfitError
		hung     *guard.NotAnsweringError
	)
	switch {
	case err == nil:
		return OK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		return Usage
	case errors.As(err, &unfit):
		return UnfitMachine
	case errors.As(err, &signal):
		return Signaled + int(signal.Signal)
	case errors.As(err, &hung) && hung.Signal != 0:
		return Signaled + int(hung.Signal)
	case errors.As(err, &hung):
		return Timeout
	case errors.As(err, &meeting):
		return Rendezvous
	case errors.As(err, &notFound) && notFound.Missing():
		return NotFound
	case errors.As(err, &notFound):
		return NotRunnable
	}
	// What remains is the operating system refusing something.
	return Environment
}

// CodeOfClass is the exit code for a class of failure.
func CodeOfClass(class report.Class) int {
	switch class {
	case report.WrongData:
		return WrongData
	case report.Usage:
		return Usage
	case report.Environment:
		return Environment
	case report.Timeout:
		return Timeout
	case report.Rendezvous:
		return Rendezvous
	}
	return WorkerDied
}

// Worse is the exit code that says more: of a signal or an unfit machine, or else of wrong data, then
// of what ended the run, then of what the machine lacks, then of a threshold.
func Worse(a, b int) int {
	order := []int{OK, Threshold, Incomplete, Environment, Rendezvous, WorkerDied, Timeout, WrongData}
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

// CodeOfWorkers is the exit code of a collective whose workers ended so.
func CodeOfWorkers(o *agent.Outcome) int {
	switch {
	case o.First != nil && o.First.Report != nil:
		return CodeOfClass(o.First.Report.Class)
	case o.First != nil:
		return WorkerDied
	case errors.As(o.Cause, new(*agent.HangError)):
		return Timeout
	case o.Cause != nil && o.Signal == 0:
		return Code(o.Cause)
	}
	return o.ExitCode()
}
