package matmul

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// prepareForks makes the events and the stream with which gatherConcurrently forks work from the main stream.
func (r *Runner) prepareForks() error {
	for _, e := range []*cudart.Event{&r.forked, &r.joined} {
		if *e != nil {
			continue
		}
		var err error
		if *e, err = r.Device.NewEvent(); err != nil {
			return fmt.Errorf("making an event for copies: %w", err)
		}
	}
	if r.localCopies != nil {
		return nil
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return fmt.Errorf("making a stream for the copy of the local shard: %w", err)
	}
	r.localCopies = s
	return nil
}

// gatherConcurrently copies the peers' shards while multiply runs, and the local shard, too, unless the kernel does.
// There is no barrier: the copies from a peer wait until that has signaled that its shard is ready, and the kernel
// ends when all peers have signaled that they have copied this rank's. By then the kernel has waited for all chunks,
// so that only the local copy must be joined.
//
// The copies are enqueued before the kernel that waits for them: where launches block the host (CUDA_LAUNCH_BLOCKING,
// some tools), they would never be enqueued otherwise. Streams signal that they have begun, and not kernels: where a
// waiting copy and a kernel share one hardware queue, the copy may block the kernel.
func (r *Runner) gatherConcurrently(call Call, l *launchPlan, multiply func() error) error {
	err := r.enqueueCopies(call, l)
	if err == nil {
		err = multiply()
	}
	if err != nil {
		return errors.Join(err, r.releaseCopies(call))
	}
	if l.gemm.CopiesLocalShard {
		return nil
	}
	return r.Main.Wait(r.joined)
}

// enqueueCopies enqueues all copies of a gather.
func (r *Runner) enqueueCopies(call Call, l *launchPlan) error {
	fork := r.forked
	if err := r.Main.Record(fork); err != nil {
		return err
	}
	if err := r.Copies.Wait(fork); err != nil {
		return err
	}
	if err := r.gatherShards(call, &l.Params); err != nil {
		return err
	}
	if l.gemm.CopiesLocalShard {
		return nil
	}
	return r.copyLocalShard(call, fork)
}

// copyLocalShard enqueues the copy of the local shard after an event, on a stream of its own: it is slow, and nothing
// waits for it meanwhile.
func (r *Runner) copyLocalShard(call Call, fork cudart.Event) error {
	if err := r.localCopies.Wait(fork); err != nil {
		return err
	}
	bytes := shardBytes(call, r.World())
	to := r.Local(call.AFull + int64(r.Rank())*bytes)
	if err := r.copyChunk(r.localCopies, CopyTimes{Shard: r.Rank(), From: r.Rank(), Bytes: bytes}, to,
		r.Local(call.A)); err != nil {
		return err
	}
	return r.localCopies.Record(r.joined)
}

// shardBytes is the size of each rank's rows of A.
func shardBytes(call Call, world int) int64 {
	return rowsOfShard(call.M, world) * call.K * int64(call.DType.Size)
}

// gatherShards signals the peers that this rank's shard is ready, first the peer that copies it first, and copies their
// shards, the next rank's first.
func (r *Runner) gatherShards(call Call, p *Params) error {
	world := r.World()
	for k := 1; k < world; k++ {
		peer := (r.Rank() + world - k) % world
		if err := r.Copies.WriteValue(r.Peer(peer, call.begun(r.Rank())), p.Epoch); err != nil {
			return fmt.Errorf("signalling rank %d that A is ready: %w", peer, err)
		}
	}
	for k := 1; k < world; k++ {
		owner := (r.Rank() + k) % world
		if err := r.gatherShard(call, p, owner); err != nil {
			return fmt.Errorf("copying the shard of rank %d: %w", owner, err)
		}
	}
	return nil
}

// gatherShard copies a peer's shard when it is ready, chunk by chunk, and writes the word of progress after each chunk.
func (r *Runner) gatherShard(call Call, p *Params, owner int) error {
	if err := r.Copies.WaitValue(r.Local(call.begun(owner)), p.Epoch); err != nil {
		return err
	}
	row, shard := call.K*int64(call.DType.Size), rowsOfShard(call.M, r.World())
	to := r.Local(call.AFull + int64(owner)*shard*row)
	for c := range int64(p.Splits) {
		first := min(c*p.ChunkRows, shard)
		if rows := min(p.ChunkRows, shard-first); rows > 0 {
			at := cudart.DevicePtr(first * row)
			chunk := CopyTimes{Shard: owner, From: owner, Chunk: int(c), Bytes: rows * row}
			if err := r.copyChunk(r.Copies, chunk, to+at, r.Peer(owner, call.A)+at); err != nil {
				return err
			}
		}
		word := cudart.DevicePtr(p.Progress) + cudart.DevicePtr(4*(int64(owner)*int64(p.Splits)+c))
		if err := r.Copies.WriteValue(word, p.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// releaseCopies ends the waits of copies for the peers where no kernel will do it: see cuda/gathered.cuh.
func (r *Runner) releaseCopies(call Call) error {
	for peer := range r.World() {
		if err := r.Main.WriteValue(r.Local(call.begun(peer)), r.Epoch); err != nil {
			return fmt.Errorf("releasing the copies: %w", err)
		}
	}
	return nil
}
