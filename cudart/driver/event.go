package driver

import (
	"time"
	"unsafe"

	"gpurun/cudart"
)

// event is a time stamp. CUDA resolves about half a microsecond.
type event struct {
	dev     *device
	handle  uintptr
	capture *capture // that it was last recorded in, or nil
}

// NewEvent makes an event that takes time.
func (d *device) NewEvent() (cudart.Event, error) {
	e := &event{dev: d}
	if err := d.api.call(d.api.eventCreate, uintptr(unsafe.Pointer(&e.handle)), 0); err != nil {
		return nil, err
	}
	d.own(e)
	return e, nil
}

// Record enqueues the taking of a time stamp, or in a capture marks the place.
func (s *stream) Record(e cudart.Event) error {
	ev, ok := e.(*event)
	if !ok || ev.dev != s.dev {
		return foreignEvent("cuEventRecord")
	}
	args := s.dev.launch.args[:2]
	args[0], args[1] = ev.handle, s.handle
	if err := s.dev.api.call(s.dev.api.eventRecord, args...); err != nil {
		return err
	}
	ev.capture = s.capture
	return nil
}

// Wait has what is enqueued from now on wait for the event. The driver lets the
// stream join the capture in which the event was recorded.
func (s *stream) Wait(e cudart.Event) error {
	ev, ok := e.(*event)
	if !ok || ev.dev != s.dev {
		return foreignEvent("cuStreamWaitEvent")
	}
	if err := s.dev.api.call(s.dev.api.streamWaitEvent, s.handle, ev.handle, 0); err != nil {
		return err
	}
	if c := ev.capture; c != nil && len(c.streams) > 0 && s.capture == nil {
		c.join(s)
	}
	return nil
}

// Since returns the time between two recorded events.
func (e *event) Since(start cudart.Event) (time.Duration, error) {
	from, ok := start.(*event)
	if !ok || from.dev != e.dev {
		return 0, foreignEvent("cuEventElapsedTime")
	}
	var ms float32
	err := e.dev.api.call(e.dev.api.eventElapsedTime, uintptr(unsafe.Pointer(&ms)), from.handle, e.handle)
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Close destroys the event.
func (e *event) Close() error   { return e.dev.closeOwned(e) }
func (e *event) release() error { return e.dev.api.call(e.dev.api.eventDestroy, e.handle) }

func foreignEvent(op string) error {
	return &cudart.Error{Op: op, Code: cudart.ErrInvalidHandle, Detail: "the event is another device's"}
}
