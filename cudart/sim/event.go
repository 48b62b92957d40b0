package sim

import (
	"sync/atomic"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// point is a place in a stream, and when the stream got there. As a command it
// waits for that.
type point struct{ at atomic.Pointer[time.Time] }

// reach is the command that the place is made of.
func (p *point) reach() command {
	return marker(func() {
		now := time.Now()
		p.at.Store(&now)
	})
}

func (p *point) begin(*stream) (task, error) { return p, nil }

func (p *point) step() (exec.State, error) {
	if p.at.Load() == nil {
		return exec.Idle, nil
	}
	return exec.Done, nil
}

// event is the place where it was last recorded: a point, a mark in a capture, or
// neither.
type event struct {
	device *Device
	point  *point
	mark   *mark
}

// NewEvent makes an event that has not been recorded.
func (d *Device) NewEvent() (cudart.Event, error) { return &event{device: d}, nil }

// Record enqueues the taking of a time stamp, or in a capture marks the place.
func (s *stream) Record(e cudart.Event) error {
	mine, err := s.own("recording an event", e)
	if err != nil {
		return err
	}
	if s.capture != nil {
		mine.point, mine.mark = nil, &mark{s.capture, s.tail}
		return nil
	}
	p := new(point)
	if err := s.enqueue(p.reach()); err != nil {
		return err
	}
	mine.point, mine.mark = p, nil
	return nil
}

// Wait has what is enqueued from now on wait for the event, or join its capture.
func (s *stream) Wait(e cudart.Event) error {
	mine, err := s.own("waiting for an event", e)
	switch {
	case err != nil:
		return err
	case mine.mark != nil:
		return mine.mark.capture.join(s, mine.mark)
	case s.capture != nil:
		return failure("waiting for an event", cudart.ErrCaptureIsolation,
			"the stream is capturing, and the event was not recorded in the capture")
	case mine.point == nil:
		return nil
	}
	return s.enqueue(mine.point)
}

// own refuses events of other devices.
func (s *stream) own(op string, e cudart.Event) (*event, error) {
	mine, ok := e.(*event)
	if !ok || mine.device != s.device {
		return nil, failure(op, cudart.ErrInvalidHandle, "the event is another device's")
	}
	return mine, nil
}

// time is when the stream got to the event, or nil.
func (e *event) time() *time.Time {
	if e.point == nil {
		return nil
	}
	return e.point.at.Load()
}

func (e *event) Since(start cudart.Event) (time.Duration, error) {
	const op = "measuring between events"
	from, ok := start.(*event)
	if !ok {
		return 0, failure(op, cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	begin, end := from.time(), e.time()
	if begin == nil || end == nil {
		return 0, failure(op, cudart.ErrNotReady, "an event has not been recorded yet; synchronize its stream first")
	}
	return end.Sub(*begin), nil
}

func (e *event) Close() error { return nil }
