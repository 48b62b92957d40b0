package verify

import (
	"bytes"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/worker/workload"
)

// Buffer is memory that a call reads or writes, with [workload.GuardBytes] in front of it and behind it that no call
// may write to. It may have several copies: then so much is guarded in front of each copy and behind it, or all of what
// lies between two.
type Buffer struct {
	Name   string // for errors: "the output"
	At     cudart.DevicePtr
	Bytes  int64 // of each copy
	Copies int   // 0: one
	Step   int64 // from copy to copy, in bytes; at least Bytes
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

// guard is memory that no call may write to: behind a buffer, in front of one, or between two.
type guard struct {
	at    cudart.DevicePtr
	bytes int64
	// ended is the buffer that ends where the guard begins, and begun the one that begins where it ends; empty: there is
	// none, or it lies further away.
	ended, begun string
}

// guards are those of a buffer, in the order of their addresses.
func (b Buffer) guards() []guard {
	at := b.At - workload.GuardBytes
	all := []guard{{at: at, bytes: workload.GuardBytes, begun: b.copyName(0)}}
	last := max(b.Copies, 1) - 1
	for n := range last {
		all = append(all, b.guardsBehind(n)...)
	}
	at = b.At + cudart.DevicePtr(int64(last)*b.Step+b.Bytes)
	return append(all, guard{at: at, bytes: workload.GuardBytes, ended: b.copyName(last)})
}

// guardsBehind are those between a copy and the next: all of the memory there, or its two ends.
func (b Buffer) guardsBehind(number int) []guard {
	gap := b.Step - b.Bytes
	at := b.At + cudart.DevicePtr(int64(number)*b.Step+b.Bytes)
	ended, begun := b.copyName(number), b.copyName(number+1)
	switch {
	case gap == 0:
		return nil
	case gap <= 2*workload.GuardBytes:
		return []guard{{at: at, bytes: gap, ended: ended, begun: begun}}
	}
	return []guard{
		{at: at, bytes: workload.GuardBytes, ended: ended},
		{at: at + cudart.DevicePtr(gap-workload.GuardBytes), bytes: workload.GuardBytes, begun: begun},
	}
}

// copyName is what errors call a copy.
func (b Buffer) copyName(number int) string {
	if b.Copies <= 1 {
		return b.Name
	}
	return fmt.Sprintf("copy %d of %s", number, b.Name)
}

// Guard poisons the memory around a buffer, and between its copies.
func (s *Staging) Guard(b Buffer) error {
	for _, g := range b.guards() {
		if err := s.rank.Stream.Fill(g.at, Poison, g.bytes); err != nil {
			return fmt.Errorf("poisoning the memory around %s: %w", b.Name, err)
		}
	}
	return nil
}

// CheckGuards returns an *OutsideError if that memory has changed.
func (s *Staging) CheckGuards(b Buffer) error {
	for _, g := range b.guards() {
		held := make([]byte, g.bytes)
		if err := s.rank.Stream.Download(held, g.at); err != nil {
			return fmt.Errorf("downloading the memory around %s: %w", b.Name, err)
		}
		if err := g.check(held); err != nil {
			return err
		}
	}
	return nil
}

// check returns an *OutsideError if the guard holds anything but poison. The error names the buffer that is nearest to
// a change.
func (g guard) check(held []byte) error {
	changed := len(held) - bytes.Count(held, []byte{Poison})
	if changed == 0 {
		return nil
	}
	nearest := func() int64 {
		return int64(slices.IndexFunc(held, func(b byte) bool { return b != Poison }))
	}
	behind := nearest()
	slices.Reverse(held)
	inFront := nearest()
	if g.begun == "" || g.ended != "" && behind <= inFront {
		return &OutsideError{Buffer: g.ended, Behind: true, Distance: behind, Bytes: changed}
	}
	return &OutsideError{Buffer: g.begun, Distance: inFront, Bytes: changed}
}
