package driver

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// Flags of the operations of streams on words.
const (
	// writeDefault is CU_STREAM_WRITE_VALUE_DEFAULT: everything before the write in
	// the stream is visible to the whole system before it.
	writeDefault = 0
	// waitGEQ is CU_STREAM_WAIT_VALUE_GEQ, which compares the signed difference with 0.
	waitGEQ = 0
)

// WriteValue enqueues the writing of a word.
func (s *stream) WriteValue(dst cudart.DevicePtr, value uint32) error {
	return s.onWord("cuStreamWriteValue32_v2", s.dev.api.streamWriteValue, dst, value, writeDefault)
}

// WaitValue has the stream wait for a word. A stream that waits when it is destroyed, or its
// memory is freed, holds that up: the driver does not give up.
func (s *stream) WaitValue(addr cudart.DevicePtr, value uint32) error {
	return s.onWord("cuStreamWaitValue32_v2", s.dev.api.streamWaitValue, addr, value, waitGEQ)
}

// onWord enqueues an operation on a word. No attribute of a device says whether it can:
// where the second version of these operations is there, it needs no module parameter of
// the driver and works on every GPU.
func (s *stream) onWord(op string, f dl.Func, at cudart.DevicePtr, value, flags uint32) error {
	if !f.Found() {
		return unsupported(op, "streams write values and wait for them with a driver for CUDA 11.7 or newer, "+
			"and this one is older; update the NVIDIA driver")
	}
	if at%4 != 0 {
		return &cudart.Error{
			Op: op, Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf("%#x is not a multiple of 4", uint64(at)),
		}
	}
	return s.dev.api.call(f, s.handle, uintptr(at), uintptr(value), uintptr(flags))
}
