package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// command is a piece of enqueued work. It is immutable, so that a graph can
// enqueue it many times.
type command interface {
	begin(s *stream) (task, error)
}

// task is a command under way.
type task interface {
	// step does a part of it and says how it stands.
	step() (exec.State, error)
}

// marker is a command that tells how far a stream has got, also after a fault.
type marker func()

func (m marker) begin(*stream) (task, error) { return m, nil }

func (m marker) step() (exec.State, error) {
	m()
	return exec.Done, nil
}

// stream is a queue of commands that are performed in order.
type stream struct {
	device *Device
	number int           // among all that the device has had
	ended  chan struct{} // closed when the stream is closed and its work done

	queue  []command // guarded by device.mu
	closed bool      // likewise

	capture *capture // nil unless the stream is captured; owner's side only, as the next two
	lane    int      // in the capture
	tail    []int    // the captured nodes that the next one follows

	// For the device's goroutine only.
	upcoming   command // to begin in the next turn, or nil
	task       task
	delayTurns int        // turns until the task continues
	delays     *rand.Rand // decides about rests; nil without disorder
	launches   uint64
}

// NewStream starts a stream. Priorities are hints, and this device takes none.
func (d *Device) NewStream(...cudart.StreamOption) (cudart.Stream, error) {
	if err := d.sticky(); err != nil {
		return nil, err
	}
	if d.stop.Err() != nil {
		return nil, failure("making a stream", cudart.ErrInvalidHandle, "the device is closed")
	}
	return d.newStream(), nil
}

// turn does a part of the stream's work. After a fault of the device it skips the commands that are
// enqueued.
func (s *stream) turn() activity {
	if s.task == nil {
		if s.upcoming == nil {
			return empty
		}
		if err := s.begin(s.upcoming); err != nil {
			s.device.setFault(err)
		}
		s.upcoming = nil
		return progressed
	}
	if s.delayTurns > 0 {
		s.delayTurns--
		return progressed
	}
	state, err := s.task.step()
	if err != nil {
		s.device.setFault(err)
		state = exec.Done
	}
	if state == exec.Done {
		s.task = nil
	}
	if state == exec.Idle {
		return blocked
	}
	return progressed
}

func (s *stream) begin(c command) (err error) {
	_, always := c.(marker)
	if !always && s.device.sticky() != nil {
		return nil
	}
	if !always {
		s.delay(beforeCommand)
	}
	s.task, err = c.begin(s)
	return err
}

// takeCommand takes the first command off the queue. A closed stream without any is
// over. The caller holds device.mu.
func (s *stream) takeCommand() {
	d := s.device
	switch {
	case len(s.queue) > 0:
		s.upcoming = s.queue[0]
		s.queue = s.queue[1:]
	case s.closed:
		d.streams = slices.DeleteFunc(slices.Clone(d.streams), func(other *stream) bool { return other == s })
		close(s.ended)
	}
}

// enqueue appends work, to the capture if there is one.
func (s *stream) enqueue(work ...command) error {
	if err := s.device.sticky(); err != nil {
		return err
	}
	if s.capture != nil {
		s.capture.add(s, work...)
		return nil
	}
	return s.push(work...)
}

func (s *stream) push(work ...command) error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	return s.pushLocked(work...)
}

// pushLocked is push for callers that hold device.mu.
func (s *stream) pushLocked(work ...command) error {
	if s.closed || s.device.stop.Err() != nil {
		return failure("enqueueing work", cudart.ErrInvalidHandle, "the stream is closed")
	}
	s.queue = append(s.queue, work...)
	s.device.clock.enqueue(s.device)
	s.device.notify()
	return nil
}

// drain waits for what is enqueued now. A closed stream drains when all its
// work is done.
func (s *stream) drain(ctx context.Context) error {
	reached, clock := make(chan struct{}), s.device.clock
	resume := sync.OnceFunc(func() { clock.Resume(1) }) // when the caller can go on, and not when it does
	if !s.isClosed() {
		if err := s.push(marker(func() { resume(); close(reached) })); err != nil {
			return err
		}
	}
	clock.Pause()
	defer resume()
	select {
	case <-reached:
		return nil
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a stream: %w", ctx.Err())
	case <-s.device.ended:
		return failure("waiting for a stream", cudart.ErrInvalidHandle, "the device was closed")
	}
}

func (s *stream) isClosed() bool {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	return s.closed
}

// Synchronize waits for the work enqueued so far.
func (s *stream) Synchronize(ctx context.Context) error {
	if s.capture != nil {
		return failure("synchronizing a stream", cudart.ErrCaptureForbidden, "the stream is capturing")
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	return s.device.sticky()
}

// synchronize is Synchronize for calls without a context.
func (s *stream) synchronize() error {
	ctx, cancel := context.WithTimeout(s.device.stop, drainLimit)
	defer cancel()
	return s.Synchronize(ctx)
}

// Launch checks the shape, copies the parameters, and enqueues the kernel.
func (s *stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	mine, err := s.device.loadedKernel("launching a kernel", k)
	if err != nil {
		return err
	}
	l := &launch{device: s.device, kernel: mine, shape: shape, params: slices.Clone(params)}
	if err := l.check(); err != nil {
		return err
	}
	return s.enqueue(l)
}

// Prepare has nothing to do: all launches take the host as long.
func (s *stream) Prepare(k cudart.Kernel) error {
	const op = "preparing a stream for a kernel"
	if _, err := s.device.loadedKernel(op, k); err != nil {
		return err
	}
	if s.capture != nil {
		return failure(op, cudart.ErrCaptureForbidden, "the stream is capturing")
	}
	return nil
}

// loadedKernel is a kernel of a module that is loaded on this device; for others the
// error names what failed.
func (d *Device) loadedKernel(op string, k cudart.Kernel) (*kernel, error) {
	own, ok := k.(*kernel)
	if !ok || own.module.device != d || own.module.unloaded {
		return nil, failure(op, cudart.ErrInvalidHandle, "the kernel belongs to no module loaded on this device")
	}
	return own, nil
}

// Close lets the work already enqueued finish and takes no more.
func (s *stream) Close() error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.closed {
		return failure("closing a stream", cudart.ErrInvalidHandle, "it was closed before")
	}
	s.closed = true
	s.device.notify()
	return nil
}
