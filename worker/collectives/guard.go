package collectives

import (
	"bytes"
	"context"
	"fmt"

	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// canary fills guards. It differs from the poison of outputs, from zero, and from small integers.
const canary = 0xa5

// guard is memory beside a buffer.
type guard struct {
	buffer string
	at     int64 // from the base of symmetric memory
	begins int64 // the guard's distance from the begin of the buffer
	bytes  int64 // of the buffer
}

// guards lists the memory in front of each buffer of a call and behind it.
func (r *run) guards(t trial) []guard {
	if !t.Algorithm.Guarded {
		return nil
	}
	var all []guard
	around := func(name string, at, bytes int64) {
		all = append(all, guard{name, at - workload.GuardBytes, -workload.GuardBytes, bytes}, guard{name, at + bytes, bytes, bytes})
	}
	call := r.place(t.Case)
	if t.InPlace {
		around("buffer", min(call.Send, call.Recv), t.Bytes())
	} else {
		around("input", call.Send, t.SendCount()*int64(t.Call.DType.Size))
		around("output", call.Recv, t.RecvBytes())
	}
	for _, area := range r.Comm.Areas(t.Algorithm) {
		around(area.Name, area.Offset, area.Bytes)
	}
	return all
}

// fillGuards writes canaries before a call.
func (r *run) fillGuards(t trial) error {
	for _, g := range r.guards(t) {
		if err := r.Stream.Fill(r.Comm.Local(g.at), canary, workload.GuardBytes); err != nil {
			return fmt.Errorf("guarding the %s: %w", g.buffer, err)
		}
	}
	return nil
}

// checkGuards fails with a *verify.GuardError where a call has written beside a buffer, and with a *verify.RestoreError
// where it has not left a buffer as it was.
func (r *run) checkGuards(ctx context.Context, t trial) error {
	if !t.Algorithm.Guarded {
		return nil
	}
	if err := r.Peers.Meet(ctx, "verified call is complete"); err != nil { // peers write to this rank's memory
		return err
	}
	intact := bytes.Repeat([]byte{canary}, workload.GuardBytes)
	found := make([]byte, workload.GuardBytes)
	for _, g := range r.guards(t) {
		if err := r.Stream.Download(found, r.Comm.Local(g.at)); err != nil {
			return fmt.Errorf("downloading the guards of the %s: %w", g.buffer, err)
		}
		if bytes.Equal(found, intact) {
			continue
		}
		first, written := -1, 0
		for i := range found {
			if found[i] != canary {
				if first < 0 {
					first = i
				}
				written++
			}
		}
		return &verify.GuardError{
			Rank: r.ID, Case: t.String(), When: t.when, Buffer: g.buffer, Offset: g.begins + int64(first), Bytes: written,
			Size: g.bytes,
		}
	}
	return r.checkRestored(ctx, t)
}

// checkRestored compares the areas that a call must leave as they were with their initial values.
func (r *run) checkRestored(ctx context.Context, t trial) error {
	if len(t.Algorithm.Restored) == 0 {
		return nil
	}
	areas := r.Comm.Areas(t.Algorithm)
	for _, i := range t.Algorithm.Restored {
		area := areas[i]
		first, want, got := int64(-1), byte(0), byte(0)
		var failed error
		err := r.staging.Download(ctx, area.Name, r.Comm.Local(area.Offset), area.Bytes, func(found []byte, at int64) {
			initial := make([]byte, len(found))
			if err := t.Algorithm.Initial(r.Comm, r.place(t.Case), i, initial, at); err != nil {
				failed = err
				return
			}
			for j := range found {
				if first < 0 && found[j] != initial[j] {
					first, want, got = at+int64(j), initial[j], found[j]
				}
			}
		})
		if err != nil || failed != nil {
			return fmt.Errorf("comparing the buffer %s with its initial values: %w", area.Name, firstError(err, failed))
		}
		if first >= 0 {
			return &verify.RestoreError{
				Rank: r.ID, Case: t.String(), When: t.when, Buffer: area.Name, Offset: first, Want: want, Got: got,
			}
		}
	}
	return r.Peers.Meet(ctx, "buffers were compared") // a peer's next call may signal here
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
