package check

import (
	"encoding/binary"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/partialorder"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// WriteValue enqueues a releasing write at system scope: what its stream did before happens before what acquires
// the word.
func (s *stream) WriteValue(dst cudart.DevicePtr, value uint32) error {
	if err := s.checkWord("enqueueing the writing of a value", dst); err != nil {
		return err
	}
	return s.perform(func(on *stream) error {
		word, err := on.device.run.memory.bytes(dst, 4)
		if err != nil {
			return failure("writing a value", cudart.ErrInvalidValue, "%v", err)
		}
		on.word(&race.Operation{Kind: race.Write, Release: true, Site: "WriteValue"}, dst)
		binary.LittleEndian.PutUint32(word, value)
		return nil
	})
}

// WaitValue enqueues a wait that ends with an acquiring read at system scope. The polls before that are no accesses
// of their own: they race with nothing that the last one does not race with.
func (s *stream) WaitValue(addr cudart.DevicePtr, value uint32) error {
	if err := s.checkWord("enqueueing a wait for a value", addr); err != nil {
		return err
	}
	return s.enqueue(func(on *stream) (task, error) { return &valueWait{on, addr, value}, nil })
}

// valueWait is a WaitValue under way.
type valueWait struct {
	stream *stream
	addr   cudart.DevicePtr
	value  uint32
}

func (w *valueWait) step() (exec.State, error) {
	word, err := w.stream.device.run.memory.bytes(w.addr, 4)
	if err != nil {
		return exec.Done, failure("waiting for a value", cudart.ErrInvalidValue, "%v", err)
	}
	if int32(binary.LittleEndian.Uint32(word)-w.value) < 0 && w.stream.device.fault == nil {
		return exec.Idle, nil
	}
	w.stream.word(&race.Operation{Kind: race.Read, Acquire: true, Site: "WaitValue"}, w.addr)
	return exec.Done, nil
}

// word tells the detector of an access to a word at system scope.
func (s *stream) word(op *race.Operation, at cudart.DevicePtr) {
	op.Scope, op.Bytes = race.SystemScope, 4
	s.device.run.detector.Access(s.thread, &s.device.run.memory.shadow, op, []uint64{uint64(at)}, 1)
	s.device.run.trace.mix(uint64(op.Kind), uint64(at))
	if x := s.device.run.explores; x != nil {
		x.print.Add(true, op.Kind == race.Write, partialorder.Word{Address: uint64(at)}, 4)
	}
	if op.Kind == race.Write {
		s.device.run.signals.command(uint64(at), 4)
	}
}

// checkWord refuses an address that no word can have.
func (s *stream) checkWord(op string, at cudart.DevicePtr) error {
	if _, err := s.device.run.memory.bytes(at, 4); err != nil {
		return failure(op, cudart.ErrInvalidValue, "%v", err)
	}
	if at%4 != 0 {
		return failure(op, cudart.ErrInvalidValue, "%#x is not a multiple of 4", uint64(at))
	}
	return nil
}
