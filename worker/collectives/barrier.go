package collectives

import (
	"context"
	"fmt"
	"time"

	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// lateBy is the delay of the rank that is late on purpose. It is long enough for the other ranks
// to pass a barrier that does not wait.
const lateBy = 10 * time.Millisecond

// verifyBarrier proves that no rank passes the barrier before all have arrived. Each rank is
// late once: all ranks write a new token to their scratch, pass the barrier, and copy all
// ranks' tokens, as an allgather would. A rank that passed early copies an old token. A second
// barrier, of kernels that are verified by themselves, keeps the tokens until all have been
// copied.
func (r *run) verifyBarrier(ctx context.Context, m *measure.Measurement, t trial, submit func() error) error {
	seed := t.in.Seed ^ uint64(t.in.Pattern)<<62 // other tokens before timing and after
	for late := range r.World {
		t.in = reference.Input{
			Seed: seed, Pattern: reference.Random, DType: collective.UInt64, World: r.World,
			First: int64(late),
		}
		if err := r.exchangeTokens(ctx, t, submit, late); err != nil {
			return err
		}
		corrupted, err := r.corrupt(t)
		if err != nil {
			return err
		}
		v, err := r.compareTokens(t.in)
		if err != nil {
			return err
		}
		if corrupted && v.Wrong == 0 {
			return verify.ErrCorruptionMissed
		}
		r.note(m, t, v, int64(r.World))
	}
	return nil
}

// exchangeTokens puts one exchange on the stream and waits for it. Rank late starts after the
// others, and after lateBy.
func (r *run) exchangeTokens(ctx context.Context, t trial, submit func() error, late int) error {
	if r.ID == late {
		if err := r.Peers.Meet(ctx, "others are ahead"); err != nil {
			return err
		}
		time.Sleep(lateBy)
	}
	if err := verify.BeLate(ctx, r.job.SkewOf(r.ID)); err != nil {
		return err
	}
	token := make([]byte, workload.TokenBytes)
	t.in.Fill(token, r.ID)
	if err := r.Stream.Upload(r.Comm.Local(r.layout.Scratch), token); err != nil {
		return fmt.Errorf("uploading a token: %w", err)
	}
	if err := submit(); err != nil {
		return err
	}
	for rank := range r.World {
		to := r.Comm.Local(r.layout.Recv + int64(rank)*workload.TokenBytes)
		if err := r.Stream.Copy(to, r.Comm.Peer(rank, r.layout.Scratch), workload.TokenBytes); err != nil {
			return fmt.Errorf("copying the token of rank %d: %w", rank, err)
		}
	}
	if err := barrier.Meet(r.Comm, r.Stream, collective.EndBarrier); err != nil {
		return err
	}
	if r.ID != late {
		if err := r.Peers.Meet(ctx, "others are ahead"); err != nil {
			return err
		}
	}
	return r.finish(ctx, t.Case)
}

// compareTokens judges the tokens of all ranks.
func (r *run) compareTokens(in reference.Input) (reference.Verdict, error) {
	var all reference.Verdict
	got := make([]byte, workload.TokenBytes*r.World)
	if err := r.Stream.Download(got, r.Comm.Local(r.layout.Recv)); err != nil {
		return all, fmt.Errorf("downloading the tokens: %w", err)
	}
	for rank := range r.World {
		v := in.From(rank, got[rank*workload.TokenBytes:][:workload.TokenBytes])
		v.First = int64(rank) // of the output
		all = all.Merge(v)
	}
	return all, nil
}
