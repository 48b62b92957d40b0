package measure

import (
	"context"
	"errors"

	"gpurun/kernels/collective"
	"gpurun/worker/rank"
	"gpurun/worker/result"
	"gpurun/worker/result/trace"
)

// callsBeforeSteps is the number of calls that keep the devices busy while the host enqueues the recorded call, so that
// no step of it waits for the host.
const callsBeforeSteps = 2

// Steps makes a call a few times, on all ranks at once, and reports when the steps of the last one ran on this rank.
func Steps(ctx context.Context, r *rank.Rank, work rank.Work, enqueue func() error,
	record func(*collective.StepRecorder) error,
) (err error) {
	to := &collective.StepRecorder{Device: r.Device}
	defer func() { err = errors.Join(err, to.Close()) }()
	for range callsBeforeSteps {
		if err := enqueue(); err != nil {
			return err
		}
	}
	if err := record(to); err != nil {
		return err
	}
	if err := r.Finish(ctx, work, nil); err != nil {
		return err
	}
	steps, err := to.Times()
	if err != nil {
		return err
	}
	drawn := trace.Rank{Rank: r.ID, Device: r.Device.Info().Name}
	for _, s := range steps {
		drawn.Steps = append(drawn.Steps, trace.Step{
			Kind: s.Kind, Name: s.Name, Line: s.Line, Begin: s.Begin.Nanoseconds(), End: s.End.Nanoseconds(),
		})
	}
	return trace.Report(drawn, func(piece *trace.Rank) error { return r.Status.Result(result.Update{Timeline: piece}) })
}
