package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"gpurun/cudart"
)

// streamNonBlocking is CU_STREAM_NON_BLOCKING: no ordering with the legacy
// default stream.
const streamNonBlocking = 1

// drainLimit bounds how long Upload and Download wait for earlier work.
const drainLimit = 2 * time.Minute

// stream is a queue of the device.
type stream struct {
	dev          *device
	handle       uintptr
	highPriority bool
	capture      *capture // nil unless the stream is captured
	kernelGraphs map[*kernel]*kernelGraph
}

// NewStream makes a stream that waits for no other stream.
func (d *device) NewStream(options ...cudart.StreamOption) (cudart.Stream, error) {
	s := &stream{dev: d, highPriority: slices.Contains(options, cudart.HighPriority)}
	if err := s.create(); err != nil {
		return nil, err
	}
	d.own(s)
	return s, nil
}

func (s *stream) create() error {
	a, handle := s.dev.api, uintptr(unsafe.Pointer(&s.handle))
	if !s.highPriority {
		return a.call(a.streamCreate, handle, streamNonBlocking)
	}
	var least, greatest int32 // greater priorities are lower numbers, below 0
	err := a.call(a.streamPriorityRange, uintptr(unsafe.Pointer(&least)), uintptr(unsafe.Pointer(&greatest)))
	if err != nil {
		return fmt.Errorf("asking for the priorities of streams: %w", err)
	}
	return a.call(a.streamCreateWithPriority, handle, streamNonBlocking, uintptr(greatest))
}

// Close destroys the stream. Work in it still completes.
func (s *stream) Close() error {
	return errors.Join(s.dev.closeOwned(s), s.dev.closeKernelGraphs(func(g *kernelGraph) bool { return g.stream == s }))
}

func (s *stream) release() error { return s.dev.api.call(s.dev.api.streamDestroy, s.handle) }

// Handle is the CUstream, for foreign libraries that enqueue on it. It belongs to
// the primary context, which is current on the device's thread, and is valid until
// Close.
func (s *stream) Handle() uintptr { return s.handle }

// Copy enqueues a copy. Addresses are unified, so that the same call serves
// own memory and peers'.
func (s *stream) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	if bytes < 0 {
		return badSize("cuMemcpyDtoDAsync_v2", bytes)
	}
	if bytes == 0 {
		return nil
	}
	return s.dev.api.call(s.dev.api.memcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(bytes), s.handle)
}

// Fill enqueues a memset.
func (s *stream) Fill(dst cudart.DevicePtr, value byte, bytes int64) error {
	if bytes < 0 {
		return badSize("cuMemsetD8Async", bytes)
	}
	if bytes == 0 {
		return nil
	}
	return s.dev.api.call(s.dev.api.memsetD8, uintptr(dst), uintptr(value), uintptr(bytes), s.handle)
}

// Upload copies host memory to the device.
func (s *stream) Upload(dst cudart.DevicePtr, src []byte) error {
	if err := s.drain("cuMemcpyHtoDAsync_v2"); err != nil || len(src) == 0 {
		return err
	}
	err := s.dev.api.call(s.dev.api.memcpyHtoDAsync, uintptr(dst), uintptr(unsafe.Pointer(&src[0])), uintptr(len(src)),
		s.handle)
	return s.finishCopy(src, err)
}

// Download copies device memory to the host.
func (s *stream) Download(dst []byte, src cudart.DevicePtr) error {
	if err := s.drain("cuMemcpyDtoHAsync_v2"); err != nil || len(dst) == 0 {
		return err
	}
	err := s.dev.api.call(s.dev.api.memcpyDtoHAsync, uintptr(unsafe.Pointer(&dst[0])), uintptr(src), uintptr(len(dst)),
		s.handle)
	return s.finishCopy(dst, err)
}

// drain waits for earlier work, so that only the copy is left to wait for.
func (s *stream) drain(op string) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if err := s.Synchronize(ctx); err != nil {
		return fmt.Errorf("waiting for earlier work before %s: %w", op, err)
	}
	return nil
}

// finishCopy waits until the device is done with the host's memory. It must
// not give up early: until then the memory is not the caller's. The copy is
// enqueued in the stream, and not done by a blocking call, because a blocking
// copy from pageable memory returns before the last bytes have arrived.
func (s *stream) finishCopy(host []byte, err error) error {
	if err != nil {
		return err
	}
	err = s.dev.api.call(s.dev.api.streamSynchronize, s.handle)
	runtime.KeepAlive(host)
	return err
}
