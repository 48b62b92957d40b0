package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gpurun/cudart"
)

// command is a piece of enqueued work. It is immutable, so that a graph can
// enqueue it many times.
type command func() error

// stream runs commands in order on its own goroutine.
type stream struct {
	device *Device
	ended  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	queue   []command
	closed  bool
	wake    chan struct{} // holds a token when the queue may have work
	capture *graph        // where commands go while capturing; owner's side only
}

// NewStream starts a stream.
func (d *Device) NewStream() (cudart.Stream, error) {
	if err := d.sticky(); err != nil {
		return nil, err
	}
	s := &stream{device: d, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
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
		if err := c(); err != nil {
			s.device.breakWith(err)
		}
	}
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
			return nil, false
		}
		select {
		case <-s.wake:
		case <-s.device.stop.Done():
			return nil, false
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
	guarded := make([]command, len(work))
	for i, c := range work {
		guarded[i] = func() error {
			if s.device.sticky() != nil {
				return nil
			}
			return c()
		}
	}
	return s.push(guarded...)
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
		if err := s.push(func() error { close(reached); return nil }); err != nil {
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
	l := launch{device: s.device, kernel: mine, shape: shape, params: slices.Clone(params)}
	if err := l.check(); err != nil {
		return err
	}
	return s.enqueue(l.run)
}

// Copy enqueues a copy; the ranges may overlap.
func (s *stream) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	work := func() error {
		to, err := s.device.memory.bytes(dst, bytes)
		if err != nil {
			return failure("copying to device memory", cudart.ErrInvalidValue, "%v", err)
		}
		from, err := s.device.memory.bytes(src, bytes)
		if err != nil {
			return failure("copying from device memory", cudart.ErrInvalidValue, "%v", err)
		}
		copy(to, from)
		return nil
	}
	return s.enqueueChecked(work, bytes, dst, src)
}

// Fill enqueues a memset.
func (s *stream) Fill(dst cudart.DevicePtr, value byte, bytes int64) error {
	work := func() error {
		to, err := s.device.memory.bytes(dst, bytes)
		if err != nil {
			return failure("filling device memory", cudart.ErrInvalidValue, "%v", err)
		}
		for i := range to {
			to[i] = value
		}
		return nil
	}
	return s.enqueueChecked(work, bytes, dst)
}

// enqueueChecked refuses ranges that are invalid already, at the caller's line
// rather than later.
func (s *stream) enqueueChecked(work command, bytes int64, ptrs ...cudart.DevicePtr) error {
	for _, p := range ptrs {
		if _, err := s.device.memory.bytes(p, bytes); err != nil {
			return failure("enqueueing a copy", cudart.ErrInvalidValue, "%v", err)
		}
	}
	return s.enqueue(work)
}

// Upload waits for earlier work, and copies from the host.
func (s *stream) Upload(dst cudart.DevicePtr, src []byte) error {
	if err := s.settle(); err != nil {
		return err
	}
	to, err := s.device.memory.bytes(dst, int64(len(src)))
	if err != nil {
		return failure("uploading", cudart.ErrInvalidValue, "%v", err)
	}
	copy(to, src)
	return nil
}

// Download waits for earlier work, and copies to the host.
func (s *stream) Download(dst []byte, src cudart.DevicePtr) error {
	if err := s.settle(); err != nil {
		return err
	}
	from, err := s.device.memory.bytes(src, int64(len(dst)))
	if err != nil {
		return failure("downloading", cudart.ErrInvalidValue, "%v", err)
	}
	copy(dst, from)
	return nil
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
