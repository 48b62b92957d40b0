package verify

import (
	"bytes"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/worker/workload"
)

// Buffer is memory that a call reads or writes, with [workload.GuardBytes] in front of it and behind it that no call
// may write to.
type Buffer struct {
	Name  string // for errors: "the output"
	At    cudart.DevicePtr
	Bytes int64
}

// OutsideError reports that a call wrote outside its buffers.
type OutsideError struct {
	Buffer   string
	Behind   bool  // its end, or else in front of its beginning
	Distance int64 // bytes from there to the nearest byte that has changed, from 0 on
	Bytes    int   // how many have changed, of those that are checked
}

func (e *OutsideError) Error() string {
	where := "in front of"
	if e.Behind {
		where = "behind"
	}
	if e.Bytes == 1 {
		return fmt.Sprintf("a call wrote outside its buffers: 1 byte %s %s has changed, at a distance of %d",
			where, e.Buffer, e.Distance)
	}
	return fmt.Sprintf("a call wrote outside its buffers: %d bytes %s %s have changed, the nearest at a distance of %d",
		e.Bytes, where, e.Buffer, e.Distance)
}

// guards are the guard in front of the buffer and the one behind it.
func (b Buffer) guards() [2]cudart.DevicePtr {
	return [2]cudart.DevicePtr{b.At - workload.GuardBytes, b.At + cudart.DevicePtr(b.Bytes)}
}

// Guard poisons the memory around a buffer.
func (s *Staging) Guard(b Buffer) error {
	for _, at := range b.guards() {
		if err := s.rank.Stream.Fill(at, Poison, workload.GuardBytes); err != nil {
			return fmt.Errorf("poisoning the memory around %s: %w", b.Name, err)
		}
	}
	return nil
}

// CheckGuards returns an *OutsideError if that memory has changed.
func (s *Staging) CheckGuards(b Buffer) error {
	got := make([]byte, workload.GuardBytes)
	for i, at := range b.guards() {
		if err := s.rank.Stream.Download(got, at); err != nil {
			return fmt.Errorf("downloading the memory around %s: %w", b.Name, err)
		}
		changed := len(got) - bytes.Count(got, []byte{Poison})
		if changed == 0 {
			continue
		}
		if i == 0 {
			slices.Reverse(got) // the nearest byte first
		}
		nearest := slices.IndexFunc(got, func(b byte) bool { return b != Poison })
		return &OutsideError{Buffer: b.Name, Behind: i == 1, Distance: int64(nearest), Bytes: changed}
	}
	return nil
}
