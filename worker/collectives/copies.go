package collectives

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/worker/verify"
)

// An input or an output of a custom file may have several copies, which calls use in turn. Every timed call needs an
// input in its copy. A verified call must read its own copy, write its own copy, and change no other copy.

// rotate reports whether some input or output has several copies.
func rotate(buffers []collective.CustomBuffer) bool {
	return slices.ContainsFunc(buffers, func(b collective.CustomBuffer) bool { return b.Rotates() })
}

// prepareCopies poisons the outputs, meets the peers, waits if this rank is to be late, and writes the inputs. A kernel
// may write to a peer's output as soon as it has heard from the call before, and leave that call's input to a peer
// that still reads it: the ranks meet behind the poison of all outputs, and in front of all inputs.
func (r *run) prepareCopies(ctx context.Context, t trial, buffers []collective.CustomBuffer) error {
	if err := r.poisonOutputs(buffers); err != nil {
		return err
	}
	if err := r.meetPrepared(ctx, t.Case); err != nil {
		return err
	}
	if err := verify.BeLate(ctx, r.job.SkewOf(r.ID)); err != nil {
		return err
	}
	return r.uploadInputs(t, buffers)
}

// poisonOutputs poisons all copies of the outputs.
func (r *run) poisonOutputs(buffers []collective.CustomBuffer) error {
	for _, b := range buffers {
		if !b.Output {
			continue
		}
		for _, at := range b.Copies {
			if err := r.Stream.Fill(r.Comm.Local(at), verify.Poison, b.Bytes); err != nil {
				return fmt.Errorf("poisoning the output %s: %w", b.Name, err)
			}
		}
	}
	return nil
}

// eachInput calls do for each copy of this rank's inputs, with its address and what it holds in a verified call.
func (r *run) eachInput(t trial, buffers []collective.CustomBuffer,
	do func(b collective.CustomBuffer, at cudart.DevicePtr, content []byte) error,
) error {
	for i, b := range buffers {
		if b.Output {
			continue
		}
		contents, err := r.contentOfCopies(t, buffers, i)
		if err != nil {
			return err
		}
		for n, at := range b.Copies {
			if err := do(b, r.Comm.Local(at), contents(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// uploadInputs writes all copies of the inputs.
func (r *run) uploadInputs(t trial, buffers []collective.CustomBuffer) error {
	return r.eachInput(t, buffers, func(b collective.CustomBuffer, at cudart.DevicePtr, content []byte) error {
		if err := r.Stream.Upload(at, content); err != nil {
			return fmt.Errorf("uploading the input %s: %w", b.Name, err)
		}
		return nil
	})
}

// contentOfCopies makes the content of the copies of this rank's input. The copies of other calls have other numbers,
// unless the file gives the content: a call that reads one of them computes a wrong result.
func (r *run) contentOfCopies(t trial, buffers []collective.CustomBuffer, buffer int) (func(n int) []byte, error) {
	b := buffers[buffer]
	called, err := r.customInput(t, buffers, buffer, r.ID)
	if err != nil || !b.Rotates() || b.Fixed != nil {
		return func(int) []byte { return called }, err
	}
	t.in.Seed = spoiledSeed(t.in.Seed)
	other, err := r.customInput(t, buffers, buffer, r.ID)
	return func(n int) []byte {
		if n == b.Turn {
			return called
		}
		return other
	}, err
}

// compareInputs compares all copies of the inputs with what they were.
func (r *run) compareInputs(ctx context.Context, t trial, buffers []collective.CustomBuffer) error {
	return r.eachInput(t, buffers, func(b collective.CustomBuffer, at cudart.DevicePtr, content []byte) error {
		err := r.staging.Compare(ctx, b.Name, at, b.Bytes, func(dst []byte, from int64) { copy(dst, content[from:]) })
		if err != nil {
			return fmt.Errorf("the input %s: %w", b.Name, err)
		}
		return nil
	})
}

// compareIdle fails if a call has written to a copy of an output that other calls use. Those copies are poisoned.
func (r *run) compareIdle(ctx context.Context, b collective.CustomBuffer) error {
	for n, at := range b.Copies {
		if n == b.Turn {
			continue
		}
		changed := false
		err := r.staging.Download(ctx, b.Name, r.Comm.Local(at), b.Bytes, func(got []byte, _ int64) {
			changed = changed || bytes.Count(got, []byte{verify.Poison}) < len(got)
		})
		switch {
		case err != nil:
			return err
		case changed:
			return &verify.TurnError{Output: b.Name, Copy: n, Turn: b.Turn}
		}
	}
	return nil
}
