package worker

import (
	"context"
	"fmt"
	"time"

	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
	"gpurun/worker/workload"
)

// late is by how much a rank that is late on purpose lets the others go ahead:
// time enough for them to pass a barrier that holds nobody.
const late = 10 * time.Millisecond

// verifyBarrier proves that nobody passes the barrier before all have come. In a
// round for each rank, one comes late: all write a token that is new to their
// scratch, pass the barrier, and copy everybody's tokens, as an allgather would. A
// rank that passed early copies an old one. A second barrier, of kernels that are
// verified by themselves, keeps the tokens until all have been copied.
func (r *rank) verifyBarrier(ctx context.Context, m *measurement, t trial, submit func() error) error {
	seed := r.Job.Seed + uint64(t.in.Pattern) // other tokens before timing and after
	for who := range r.WorldSize {
		t.in = reference.Input{
			Seed: seed, Pattern: reference.Random, DType: collective.UInt64, World: r.WorldSize,
			First: int64(who),
		}
		if err := r.roundOfTokens(ctx, t, submit, who); err != nil {
			return err
		}
		corrupted, err := r.injectCorruption(t)
		if err != nil {
			return err
		}
		v, err := r.compareTokens(t.in)
		if err != nil {
			return err
		}
		if corrupted && v.Wrong == 0 {
			return errCorruptionMissed
		}
		m.add(r.Rank, t, v, int64(r.WorldSize), workload.TokenBytes)
	}
	return nil
}

// roundOfTokens puts a round on the stream and waits for it. Rank who does so
// late: after the others, and a while.
func (r *rank) roundOfTokens(ctx context.Context, t trial, submit func() error, who int) error {
	if r.Rank == who {
		if err := r.meet(ctx, "others are ahead"); err != nil {
			return err
		}
		time.Sleep(late)
	}
	token := make([]byte, workload.TokenBytes)
	t.in.Fill(token, r.Rank)
	if err := r.stream.Upload(r.comm.Local(r.layout.Scratch), token); err != nil {
		return fmt.Errorf("uploading a token: %w", err)
	}
	if err := submit(); err != nil {
		return err
	}
	for rank := range r.WorldSize {
		to := r.comm.Local(r.layout.Recv + int64(rank)*workload.TokenBytes)
		if err := r.stream.Copy(to, r.comm.Peer(rank, r.layout.Scratch), workload.TokenBytes); err != nil {
			return fmt.Errorf("copying the token of rank %d: %w", rank, err)
		}
	}
	if err := barrier.Meet(r.comm, r.stream, collective.EndBarrier); err != nil {
		return err
	}
	if r.Rank != who {
		if err := r.meet(ctx, "others are ahead"); err != nil {
			return err
		}
	}
	return r.settle(ctx, t.Case)
}

// compareTokens judges the tokens of all ranks.
func (r *rank) compareTokens(in reference.Input) (reference.Verdict, error) {
	var all reference.Verdict
	got := make([]byte, workload.TokenBytes*r.WorldSize)
	if err := r.stream.Download(got, r.comm.Local(r.layout.Recv)); err != nil {
		return all, fmt.Errorf("downloading the tokens: %w", err)
	}
	for rank := range r.WorldSize {
		v := in.From(rank, got[rank*workload.TokenBytes:][:workload.TokenBytes])
		v.First = int64(rank) // of the output
		all = all.Merge(v)
	}
	return all, nil
}
