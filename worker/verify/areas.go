package verify

import (
	"context"
	"fmt"
	"slices"

	"gpurun/kernels/collective"
)

// Areas are the own memory of an algorithm, a pointer to one, around which no call may write.
func (s *Staging) Areas(algorithm any) (all []Buffer) {
	for _, area := range s.rank.Comm.Areas(algorithm) {
		if area.Bytes > 0 && !area.Host {
			all = append(all, Buffer{
				Name: "the buffer " + area.Name, At: s.rank.Comm.Local(area.Offset), Bytes: area.Bytes,
				Copies: int(area.Count()), Step: area.Step(),
			})
		}
	}
	return all
}

// CheckRestored compares the areas of an algorithm with these numbers, which a call must leave as they were, with
// their initial values. initial makes these from a byte on, in place of what the area holds; it leaves what an area may
// hold. CheckRestored fails with a *RestoreError. Ranks meet before it, since peers write to this rank's memory,
// and behind it, since the next call of a peer may signal here.
func (s *Staging) CheckRestored(ctx context.Context, algorithm any, numbers []int,
	initial func(area int, dst []byte, at int64) error,
) error {
	if len(numbers) == 0 {
		return nil
	}
	if err := s.rank.Peers.Meet(ctx, "verified call is complete"); err != nil {
		return err
	}
	areas := s.rank.Comm.Areas(algorithm)
	for _, i := range numbers {
		same := func(dst []byte, at int64) error { return initial(i, dst, at) }
		if err := s.compareArea(ctx, areas[i], same); err != nil {
			return err
		}
	}
	return s.rank.Peers.Meet(ctx, "buffers are compared")
}

func (s *Staging) compareArea(ctx context.Context, area collective.PlacedArea,
	initial func(dst []byte, at int64) error,
) error {
	var wrong *RestoreError
	var failed error
	check := func(got []byte, at int64) {
		want := slices.Clone(got)
		if failed = initial(want, at); failed != nil {
			return
		}
		for i := range got {
			if wrong == nil && got[i] != want[i] {
				wrong = &RestoreError{Buffer: area.Name, Offset: at + int64(i), Want: want[i], Got: got[i]}
			}
		}
	}
	name := "the buffer " + area.Name
	if err := s.Download(ctx, name, s.rank.Comm.Local(area.Offset), area.Total(), check); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return fmt.Errorf("making the initial values of %s: %w", name, failed)
	case wrong != nil:
		return wrong
	}
	return nil
}
