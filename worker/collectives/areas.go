package collectives

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/worker/verify"
)

// areas are the algorithm's own memory, around which no call may write.
func (r *run) areas(t trial) []verify.Buffer {
	var all []verify.Buffer
	for _, area := range r.Comm.Areas(t.Algorithm) {
		if area.Bytes > 0 {
			all = append(all, verify.Buffer{
				Name: "the buffer " + area.Name, At: r.Comm.Local(area.Offset), Bytes: area.Bytes,
			})
		}
	}
	return all
}

// checkRestored compares the areas that a call must leave as they were with their initial values. It fails with a
// *verify.RestoreError. Ranks meet before it, since peers write to this rank's memory, and behind it, since the next
// call of a peer may signal here.
func (r *run) checkRestored(ctx context.Context, t trial) error {
	if len(t.Algorithm.Restored) == 0 {
		return nil
	}
	if err := r.Peers.Meet(ctx, "verified call is complete"); err != nil {
		return err
	}
	areas := r.Comm.Areas(t.Algorithm)
	for _, i := range t.Algorithm.Restored {
		if err := r.compareArea(ctx, t, i, areas[i]); err != nil {
			return err
		}
	}
	return r.Peers.Meet(ctx, "buffers are compared")
}

func (r *run) compareArea(ctx context.Context, t trial, number int, area collective.PlacedArea) (err error) {
	var wrong *verify.RestoreError
	var failed error
	check := func(got []byte, at int64) {
		want := make([]byte, len(got))
		if failed = t.Algorithm.Initial(r.Comm, r.place(t.Case), number, want, at); failed != nil {
			return
		}
		for i := range got {
			if wrong == nil && got[i] != want[i] {
				wrong = &verify.RestoreError{Buffer: area.Name, Offset: at + int64(i), Want: want[i], Got: got[i]}
			}
		}
	}
	name := "the buffer " + area.Name
	if err := r.staging.Download(ctx, name, r.Comm.Local(area.Offset), area.Bytes, check); err != nil {
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
