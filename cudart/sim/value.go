package sim

import (
	"sync/atomic"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// WriteValue enqueues the writing of a word.
func (s *stream) WriteValue(dst cudart.DevicePtr, value uint32) error {
	if err := s.checkWord("enqueueing the writing of a value", dst); err != nil {
		return err
	}
	return s.enqueue(writeCommand{dst, value})
}

// WaitValue has what is enqueued from now on wait for a word.
func (s *stream) WaitValue(addr cudart.DevicePtr, value uint32) error {
	if err := s.checkWord("enqueueing a wait for a value", addr); err != nil {
		return err
	}
	return s.enqueue(waitCommand{addr, value})
}

// checkWord refuses an address that no word can have.
func (s *stream) checkWord(op string, at cudart.DevicePtr) error {
	if _, err := s.word(at); err != nil {
		return failure(op, cudart.ErrInvalidValue, "%v", err)
	}
	if at%4 != 0 {
		return failure(op, cudart.ErrInvalidValue, "%#x is not a multiple of 4", uint64(at))
	}
	return nil
}

// word is the host's view of a word in device memory.
func (s *stream) word(at cudart.DevicePtr) (*uint32, error) {
	bytes, err := s.device.memory.bytes(at, 4)
	if err != nil {
		return nil, err
	}
	return (*uint32)(unsafe.Pointer(unsafe.SliceData(bytes))), nil
}

// writeCommand is an enqueued WriteValue.
type writeCommand struct {
	dst   cudart.DevicePtr
	value uint32
}

// writeTask is a writeCommand that has begun.
type writeTask struct {
	word  *uint32
	value uint32
}

func (w writeCommand) begin(s *stream) (task, error) {
	to, err := s.word(w.dst)
	if err != nil {
		return nil, failure("writing a value", cudart.ErrInvalidValue, "%v", err)
	}
	return writeTask{to, w.value}, nil
}

// step stores the word as a release does: Go's atomics are sequentially
// consistent, and the copies and kernels before it in the stream are complete.
func (w writeTask) step() (exec.State, error) {
	atomic.StoreUint32(w.word, w.value)
	return exec.Done, nil
}

// waitCommand is an enqueued WaitValue.
type waitCommand struct {
	addr  cudart.DevicePtr
	value uint32
}

// waitTask is a waitCommand that has begun.
type waitTask struct {
	device *Device
	word   *uint32
	value  uint32
}

func (w waitCommand) begin(s *stream) (task, error) {
	at, err := s.word(w.addr)
	if err != nil {
		return nil, failure("waiting for a value", cudart.ErrInvalidValue, "%v", err)
	}
	return waitTask{s.device, at, w.value}, nil
}

// step polls the word. A wait ends when the device is broken: the command that would write the word
// may have been skipped.
func (w waitTask) step() (exec.State, error) {
	if int32(atomic.LoadUint32(w.word)-w.value) < 0 && w.device.sticky() == nil {
		return exec.Idle, nil
	}
	return exec.Done, nil
}
