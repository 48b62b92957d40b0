package check

import (
	"context"
	"fmt"

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
	chain  *chain // the kernel that ended last, and nothing has come behind it, or nil
	closed bool
	// launches counts the kernels that have begun.
	launches int
	retired  retired
	lane
}

// command is a piece of enqueued work. It begins when the ones before it are done.
type command struct {
	begin  func(on *stream) (task, error) // a nil task is done
	after  *race.Moment                   // what the host had done; nil in a graph, whose lanes wait for one another
	launch *launch                        // of a kernel
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
	g, ok := s.task.(*grids)
	return s.busy() && (!ok || g.ready())
}

// enqueue appends work that happens after what the host has done. In a capture it is recorded instead.
func (s *stream) enqueue(begin func(on *stream) (task, error)) error {
	return s.add(command{begin: begin})
}

func (s *stream) add(c command) error {
	switch {
	case s.device.fault != nil:
		return s.device.fault
	case s.capture != nil:
		s.capture.add(s, c)
		return nil
	case s.closed:
		return failure("enqueueing work", cudart.ErrInvalidHandle, "the stream is closed")
	}
	c.after = s.device.run.detector.Now(s.device.rank.host.thread)
	s.queue = append(s.queue, c)
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
		s.fail(func() (err error) { s.task, err = s.begin(c); return err })
		return true
	}
	state := exec.Done
	s.fail(func() (err error) { state, err = s.task.step(); return err })
	if state == exec.Done {
		s.task = nil
	}
	return state != exec.Idle
}

// begin begins a command. A kernel that is launched early takes its order from the chain that it continues.
func (s *stream) begin(c command) (task, error) {
	if c.launch != nil {
		return s.beginKernel(c)
	}
	s.chain = nil
	if c.after != nil {
		s.device.run.detector.After(s.thread, c.after)
	}
	return c.begin(s)
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
	if err := s.notCapturing("synchronizing a stream"); err != nil {
		return err
	}
	if err := s.drain(); err != nil {
		return err
	}
	return s.device.fault
}

// Prepare has nothing to do: kernels are compiled when they are looked up.
func (s *stream) Prepare(k cudart.Kernel) error {
	if _, err := s.device.kernel(k); err != nil {
		return err
	}
	return s.notCapturing("preparing a stream for a kernel")
}

// Close takes no more work. What is enqueued is still done.
func (s *stream) Close() error {
	if s.closed {
		return failure("closing a stream", cudart.ErrInvalidHandle, "it was closed before")
	}
	s.closed = true
	return nil
}
