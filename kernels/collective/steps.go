package collective

import (
	"errors"
	"fmt"
	"time"

	"gpurun/cudart"
)

// Kinds of steps of a call.
const (
	LaunchStep  = "launch"
	FillStep    = "fill"
	CopyStep    = "copy"
	BarrierStep = "barrier"
)

// StepTimes is a step of a call of an algorithm, and when it ran.
type StepTimes struct {
	Kind string
	Name string // of the kernel, or of the buffers
	Line int    // of the kernel file
	// Begin and End count from the barrier of all ranks before the call, as events of the stream measure them. A step
	// begins when the step before has ended.
	Begin, End time.Duration
}

// StepRecorder times the steps of one call, by an event before the first and one behind each. The events keep
// consecutive steps from overlapping. Its zero value but for Device is ready.
type StepRecorder struct {
	Device cudart.Device
	steps  []StepTimes
	events []cudart.Event // one more than steps
}

// Start enqueues the event before the first step.
func (r *StepRecorder) Start(s cudart.Stream) error {
	event, err := r.Device.NewEvent()
	if err != nil {
		return fmt.Errorf("timing steps: %w", err)
	}
	r.events = append(r.events, event)
	return s.Record(event)
}

// Done enqueues the event behind a step, of which Begin and End are not set.
func (r *StepRecorder) Done(s cudart.Stream, step StepTimes) error {
	r.steps = append(r.steps, step)
	return r.Start(s)
}

// Times returns the steps. The stream must have reached the last event.
func (r *StepRecorder) Times() ([]StepTimes, error) {
	for i := range r.steps {
		step := &r.steps[i]
		took, err := r.events[i+1].Since(r.events[i])
		if err != nil {
			return nil, fmt.Errorf("timing the step %s: %w", step.Name, err)
		}
		if i > 0 {
			step.Begin = r.steps[i-1].End
		}
		step.End = step.Begin + max(took, 0)
	}
	return r.steps, nil
}

// Close closes the events.
func (r *StepRecorder) Close() error {
	var errs []error
	for _, event := range r.events {
		errs = append(errs, event.Close())
	}
	r.events = nil
	return errors.Join(errs...)
}
