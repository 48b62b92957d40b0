package sim

import "gpurun/cudart"

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
func (s *stream) enqueueChecked(work func() error, bytes int64, ptrs ...cudart.DevicePtr) error {
	for _, p := range ptrs {
		if _, err := s.device.memory.bytes(p, bytes); err != nil {
			return failure("enqueueing a copy", cudart.ErrInvalidValue, "%v", err)
		}
	}
	return s.enqueue(command{run: work})
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
