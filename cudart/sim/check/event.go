package check

import (
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
)

// event is where it was recorded last: a place in a stream, in a capture, or neither.
type event struct {
	mark     *mark
	captured *captureMark
}

// mark is a place in a stream.
type mark struct {
	reached bool
	moment  *race.Moment
	time    uint64
}

// reach enqueues the reaching of a mark.
func (s *stream) reach(m *mark) error {
	return s.enqueue(func(on *stream) (task, error) {
		m.reached, m.time, m.moment = true, on.device.run.now, on.device.run.detector.Now(on.thread)
		return nil, nil
	})
}

// await enqueues the wait for a mark.
func (s *stream) await(m *mark) error {
	return s.enqueue(func(on *stream) (task, error) {
		return waiting(func() bool {
			if m.reached {
				on.device.run.detector.After(on.thread, m.moment)
			}
			return m.reached
		}), nil
	})
}

func (s *stream) Record(e cudart.Event) error {
	own, ok := e.(*event)
	if !ok {
		return failure("recording an event", cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	if s.capture != nil {
		own.mark, own.captured = nil, &captureMark{s.capture, s.tail}
		return nil
	}
	own.mark, own.captured = &mark{}, nil
	return s.reach(own.mark)
}

func (s *stream) Wait(e cudart.Event) error {
	own, ok := e.(*event)
	switch {
	case !ok:
		return failure("waiting for an event", cudart.ErrInvalidHandle, "the event belongs to another backend")
	case own.captured != nil:
		return own.captured.capture.join(s, own.captured)
	case s.capture != nil:
		return failure("waiting for an event", cudart.ErrCaptureIsolation,
			"the stream is capturing, and the event was not recorded in the capture")
	case own.mark == nil:
		return nil
	}
	return s.await(own.mark)
}

func (e *event) Since(start cudart.Event) (time.Duration, error) {
	other, ok := start.(*event)
	if !ok || e.mark == nil || other.mark == nil || !e.mark.reached || !other.mark.reached {
		return 0, failure("reading an event", cudart.ErrNotReady, "it was not recorded, or its stream has not reached it")
	}
	return time.Duration(e.mark.time - other.mark.time), nil
}

func (e *event) Close() error { return nil }
