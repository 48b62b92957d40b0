package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gpurun/cudart"
)

// command is a piece of enqueued work: something to run, or a kernel. It is
// immutable, so that a graph can enqueue it many times.
type command struct {
	run    func() error
	kernel *launch
	always bool // also after a fault
}

// stream runs commands in order on its own goroutine.
type stream struct {
	device *Device
	ended  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	queue   []command
	closed  bool
	wake    chan struct{} // holds a token when the queue may have work
	capture *graph        // where commands go while capturing; owner's side only
	number  int           // among the device's streams

	launches uint64 // with disorder; for the goroutine only
}

// NewStream starts a stream.
func (d *Device) NewStream() (cudart.Stream, error) {
	if err := d.sticky(); err != nil {
		return nil, err
	}
	s := &stream{device: d, ended: make(chan struct{}), wake: make(chan struct{}, 1), number: len(d.streams)}
	d.streams = append(d.streams, s)
	go s.run()
	return s, nil
}

// run executes commands until the stream or its device is closed. After a
// fault it only passes over them.
func (s *stream) run() {
	defer close(s.ended)
	for {
		c, ok := s.next()
		if !ok {
			return
		}
		if err := s.perform(c); err != nil {
			s.device.breakWith(err)
		}
	}
}

func (s *stream) perform(c command) error {
	switch {
	case s.device.sticky() != nil && !c.always:
		return nil
	case c.kernel != nil:
		return s.runKernels(c.kernel)
	}
	return c.run()
}

func (s *stream) next() (command, bool) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			c := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return c, s.device.stop.Err() == nil
		}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return command{}, false
		}
		select {
		case <-s.wake:
		case <-s.device.stop.Done():
			return command{}, false
		}
	}
}

// enqueue appends work, to the graph being captured if there is one.
func (s *stream) enqueue(work ...command) error {
	if err := s.device.sticky(); err != nil {
		return err
	}
	if s.capture != nil {
		s.capture.commands = append(s.capture.commands, work...)
		return nil
	}
	return s.push(work...)
}

func (s *stream) push(work ...command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.device.stop.Err() != nil {
		return failure("enqueueing work", cudart.ErrInvalidHandle, "the stream is closed")
	}
	s.queue = append(s.queue, work...)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// drain waits for what is enqueued now. A closed stream drains when its
// goroutine ends.
func (s *stream) drain(ctx context.Context) error {
	reached := make(chan struct{})
	if !s.isClosed() {
		marker := command{always: true, run: func() error { close(reached); return nil }}
		if err := s.push(marker); err != nil {
			return err
		}
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a stream: %w", ctx.Err())
	case <-s.ended:
		if s.device.stop.Err() == nil {
			return nil
		}
		return failure("waiting for a stream", cudart.ErrInvalidHandle, "the device was closed")
	}
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// settle is Synchronize for calls without a context.
func (s *stream) settle() error {
	ctx, cancel := context.WithTimeout(s.device.stop, drainLimit)
	defer cancel()
	return s.Synchronize(ctx)
}

// Launch checks the shape, copies the parameters, and enqueues the kernel.
func (s *stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	mine, ok := k.(*kernel)
	if !ok || mine.module.device != s.device || mine.module.unloaded {
		return failure("launching a kernel", cudart.ErrInvalidHandle, "the kernel belongs to no module loaded on this device")
	}
	l := &launch{device: s.device, kernel: mine, shape: shape, params: slices.Clone(params)}
	if err := l.check(); err != nil {
		return err
	}
	return s.enqueue(command{kernel: l})
}

// Close lets the work already enqueued finish and takes no more.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return failure("closing a stream", cudart.ErrInvalidHandle, "it was closed before")
	}
	s.closed = true
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}
