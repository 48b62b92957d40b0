package sim

import (
	"sync"
	"time"

	"gpurun/cudart"
)

// event is a time stamp taken when a stream gets to it.
type event struct {
	mu sync.Mutex
	at time.Time // zero until then
}

// NewEvent makes an event that has not been recorded.
func (d *Device) NewEvent() (cudart.Event, error) { return &event{}, nil }

// Record enqueues the taking of a time stamp.
func (s *stream) Record(e cudart.Event) error {
	mine, ok := e.(*event)
	if !ok {
		return failure("recording an event", cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	return s.enqueue(command{run: func() error {
		mine.mu.Lock()
		defer mine.mu.Unlock()
		mine.at = time.Now()
		return nil
	}})
}

func (e *event) time() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

func (e *event) Since(start cudart.Event) (time.Duration, error) {
	const op = "measuring between events"
	from, ok := start.(*event)
	if !ok {
		return 0, failure(op, cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	begin, end := from.time(), e.time()
	if begin.IsZero() || end.IsZero() {
		return 0, failure(op, cudart.ErrNotReady, "an event has not been recorded yet; synchronize its stream first")
	}
	return end.Sub(begin), nil
}

func (e *event) Close() error { return nil }
