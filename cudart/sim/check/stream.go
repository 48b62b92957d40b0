package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// stream is a queue of commands that are performed in order.
type stream struct {
	device *device
	number int
	thread *race.Thread
	queue  []command
	task   task
	closed bool
	// launches counts the kernels that have begun.
	launches int
}

// command is a piece of enqueued work. It begins when the ones before it are done.
type command struct {
	begin func() (task, error) // a nil task is done
	after *race.Moment         // what the host had done
}

// task is a command under way.
type task interface {
	step() (exec.State, error)
}

// waiting is a task that is done when a condition holds.
type waiting func() bool

func (w waiting) step() (exec.State, error) {
	if w() {
		return exec.Done, nil
	}
	return exec.Idle, nil
}

func (s *stream) busy() bool { return s.task != nil || len(s.queue) > 0 }

// hasWork reports whether the stream can take a step: the warps of a kernel take those of their kernel.
func (s *stream) hasWork() bool {
	k, ok := s.task.(*kernelTask)
	return s.busy() && (!ok || k.done)
}

// enqueue appends work that happens after what the host has done.
func (s *stream) enqueue(begin func() (task, error)) error {
	if s.device.fault != nil {
		return s.device.fault
	}
	if s.closed {
		return failure("enqueueing work", cudart.ErrInvalidHandle, "the stream is closed")
	}
	s.queue = append(s.queue, command{begin, s.device.run.detector.Now(s.device.rank.host.thread)})
	return nil
}

// steps makes some steps, and reports whether one of them made progress.
func (s *stream) steps(most int) (progress bool) {
	for range most {
		if !s.busy() || !s.step() {
			break
		}
		s.device.run.changed()
		progress = true
	}
	return progress
}

// step begins a command, or makes a step of the one under way. After a fault of the device, commands are dropped.
func (s *stream) step() (progress bool) {
	s.device.run.count(stepTime)
	if s.task == nil {
		c := s.queue[0]
		s.queue = s.queue[1:]
		if s.device.fault != nil {
			return true
		}
		s.device.run.detector.After(s.thread, c.after)
		s.fail(func() (err error) { s.task, err = c.begin(); return err })
		return true
	}
	state := exec.Done
	s.fail(func() (err error) { state, err = s.task.step(); return err })
	if state == exec.Done {
		s.task = nil
	}
	return state != exec.Idle
}

// fail keeps the first error of the device's work, as CUDA's errors of kernels are sticky.
func (s *stream) fail(f func() error) {
	if err := f(); err != nil && s.device.fault == nil {
		s.device.fault = err
		s.task = nil
	}
}

// drain waits for the work enqueued so far, which then happens before what the host does next.
func (s *stream) drain() error {
	run, host := s.device.run, s.device.rank.host
	host.doing = fmt.Sprintf("for the work on stream %d", s.number)
	if err := host.wait(func() bool { return !s.busy() }); err != nil {
		return err
	}
	run.detector.Join(host.thread, s.thread)
	return nil
}

func (s *stream) Synchronize(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("waiting for a stream: %w", err)
	}
	if err := s.drain(); err != nil {
		return err
	}
	return s.device.fault
}

// Prepare has nothing to do: kernels are compiled when they are looked up.
func (s *stream) Prepare(k cudart.Kernel) error {
	_, err := s.device.kernel(k)
	return err
}

func (s *stream) WriteValue(cudart.DevicePtr, uint32) error {
	return s.device.refuse("WriteValue on a stream")
}

func (s *stream) WaitValue(cudart.DevicePtr, uint32) error {
	return s.device.refuse("WaitValue on a stream")
}

func (s *stream) Capture(func() error) (cudart.Graph, error) {
	return nil, s.device.refuse("the capture of a stream")
}

// Close takes no more work. What is enqueued is still done.
func (s *stream) Close() error {
	if s.closed {
		return failure("closing a stream", cudart.ErrInvalidHandle, "it was closed before")
	}
	s.closed = true
	return nil
}

// event is where it was recorded last.
type event struct{ mark *mark }

// mark is a place in a stream.
type mark struct {
	reached bool
	moment  *race.Moment
	time    uint64
}

func (s *stream) Record(e cudart.Event) error {
	own, ok := e.(*event)
	if !ok {
		return failure("recording an event", cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	m := &mark{}
	own.mark = m
	return s.enqueue(func() (task, error) {
		m.reached, m.time, m.moment = true, s.device.run.now, s.device.run.detector.Now(s.thread)
		return nil, nil
	})
}

func (s *stream) Wait(e cudart.Event) error {
	own, ok := e.(*event)
	if !ok {
		return failure("waiting for an event", cudart.ErrInvalidHandle, "the event belongs to another backend")
	}
	m := own.mark
	if m == nil {
		return nil
	}
	return s.enqueue(func() (task, error) {
		return waiting(func() bool {
			if m.reached {
				s.device.run.detector.After(s.thread, m.moment)
			}
			return m.reached
		}), nil
	})
}

func (e *event) Since(start cudart.Event) (time.Duration, error) {
	other, ok := start.(*event)
	if !ok || e.mark == nil || other.mark == nil || !e.mark.reached || !other.mark.reached {
		return 0, failure("reading an event", cudart.ErrNotReady, "it was not recorded, or its stream has not reached it")
	}
	return time.Duration(e.mark.time - other.mark.time), nil
}

func (e *event) Close() error { return nil }

// Launch checks the shape, copies the parameters, and enqueues the kernel.
func (s *stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	own, err := s.device.kernel(k)
	if err != nil {
		return err
	}
	if err := s.device.admit(own, &shape); err != nil {
		return err
	}
	l := &launch{stream: s, kernel: own, shape: shape, params: slices.Clone(params)}
	cfg := l.config()
	if err := cfg.Check(own.code); err != nil {
		return failure("launching "+own.Name(), cudart.ErrInvalidValue, "%v", err)
	}
	return s.enqueue(l.begin)
}
