package sim

import "gpurun/cudart"

// Copy enqueues a copy; the ranges may overlap.
func (s *stream) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	return s.transfer(transfer{dst: dst, src: src, bytes: bytes}, dst, src)
}

// Fill enqueues a memset.
func (s *stream) Fill(dst cudart.DevicePtr, value byte, bytes int64) error {
	return s.transfer(transfer{dst: dst, bytes: bytes, value: value}, dst)
}

// transfer refuses ranges that are invalid already, at the caller's line rather
// than later.
func (s *stream) transfer(t transfer, ptrs ...cudart.DevicePtr) error {
	for _, p := range ptrs {
		if _, err := s.device.memory.bytes(p, t.bytes); err != nil {
			return failure("enqueueing a copy", cudart.ErrInvalidValue, "%v", err)
		}
	}
	return s.enqueue(t)
}

// Upload waits for earlier work, and copies from the host.
func (s *stream) Upload(dst cudart.DevicePtr, src []byte) error {
	if err := s.synchronize(); err != nil {
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
	if err := s.synchronize(); err != nil {
		return err
	}
	from, err := s.device.memory.bytes(src, int64(len(dst)))
	if err != nil {
		return failure("downloading", cudart.ErrInvalidValue, "%v", err)
	}
	copy(dst, from)
	return nil
}
