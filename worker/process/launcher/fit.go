package launcher

import (
	"context"
	"errors"
	"os"
	"time"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/errorfile"
)

// UnfitError says that this machine cannot take part, for a reason of its own: no worker is to blame.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return "this machine is not fit for the job: " + e.Err.Error() }

// Unwrap makes the reason visible to errors.As.
func (e *UnfitError) Unwrap() error { return e.Err }

// fit checks this machine before an attempt. The error is an *UnfitError, or the cause of ctx's end.
func (j *Job) fit(ctx context.Context) error {
	if j.CheckMachine == nil {
		return nil
	}
	err := j.CheckMachine(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	err = &UnfitError{err}
	if to := os.Getenv(errorfile.Variable); to != "" {
		const code = 1 // torchrun's
		return errors.Join(err, errorfile.Write(to, errorfile.Record{Message: err.Error(), Time: time.Now()}, code))
	}
	return err
}

// fault says, as an *UnfitError, how this machine is to blame for the way in which its workers ended. It is nil if the
// machine is not, or if no worker failed or hung.
func (j *Job) fault(outcome *agent.Outcome) error {
	failed := outcome.First != nil || errors.As(outcome.Cause, new(*agent.HangError))
	if j.Fault == nil || !failed || outcome.Signal != 0 {
		return nil
	}
	if err := j.Fault(); err != nil {
		return &UnfitError{err}
	}
	return nil
}
