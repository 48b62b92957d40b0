package matmul

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// prepareForks makes what gatherBeside forks with.
func (r *Runner) prepareForks() error {
	for i := range r.forks {
		if r.forks[i] != nil {
			continue
		}
		e, err := r.Device.NewEvent()
		if err != nil {
			return fmt.Errorf("making an event for copies: %w", err)
		}
		r.forks[i] = e
	}
	if r.own != nil {
		return nil
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return fmt.Errorf("making a stream for the copy of the own shard: %w", err)
	}
	r.own = s
	return nil
}

// gatherBeside has the peers' shards copied while multiply runs, and the own one, if the kernel does not do it. There is no
// barrier: the copies from a peer wait until it says that its shard is there, and the kernel ends when all peers have said
// that they have copied this rank's. It has met all chunks by then, so that only the own copy is joined.
//
// The copies are enqueued before the kernel that waits for them: where launches block the
// host (CUDA_LAUNCH_BLOCKING, some tools), they would never come. Streams tell each other that
// they have begun, and not kernels: a copy that waits may be in a kernel's way, where both go
// through one queue of the hardware.
func (r *Runner) gatherBeside(call Call, l *launching, multiply func() error) error {
	err := r.copyBeside(call, l)
	if err == nil {
		err = multiply()
	}
	if err != nil {
		return errors.Join(err, r.letCopiesGo(call))
	}
	if l.gemm.CopiesOwn {
		return nil
	}
	return r.Main.Wait(r.forks[1])
}

// copyBeside enqueues all copies.
func (r *Runner) copyBeside(call Call, l *launching) error {
	leave := r.forks[0]
	if err := r.Main.Record(leave); err != nil {
		return err
	}
	if err := r.Copies.Wait(leave); err != nil {
		return err
	}
	if err := r.gatherShards(call, &l.Params); err != nil {
		return err
	}
	if l.gemm.CopiesOwn {
		return nil
	}
	return r.copyOwn(call, leave)
}

// copyOwn enqueues the copy of the own shard behind an event, on a stream of its own: it is slow, and nobody waits for it
// meanwhile.
func (r *Runner) copyOwn(call Call, leave cudart.Event) error {
	if err := r.own.Wait(leave); err != nil {
		return err
	}
	bytes := shardBytes(call, r.World())
	to := r.Local(call.AFull + int64(r.Rank())*bytes)
	if err := r.copyChunk(r.own, CopyTimes{Shard: r.Rank(), From: r.Rank(), Bytes: bytes}, to, r.Local(call.A)); err != nil {
		return err
	}
	return r.own.Record(r.forks[1])
}

// shardBytes is the size of each rank's rows of A.
func shardBytes(call Call, world int) int64 {
	return rowsOfShard(call.M, world) * call.K * int64(call.DType.Size)
}

// gatherShards tells the peers that this rank's shard is there, first the one that copies it
// first, and copies theirs, the next rank's first.
func (r *Runner) gatherShards(call Call, p *Params) error {
	world := r.World()
	for k := 1; k < world; k++ {
		peer := (r.Rank() + world - k) % world
		if err := r.Copies.WriteValue(r.Peer(peer, call.ready(r.Rank())), p.Epoch); err != nil {
			return fmt.Errorf("telling rank %d that A is there: %w", peer, err)
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

// gatherShard copies a peer's shard when it is there, chunk by chunk, each followed by its
// word of progress.
func (r *Runner) gatherShard(call Call, p *Params, owner int) error {
	if err := r.Copies.WaitValue(r.Local(call.ready(owner)), p.Epoch); err != nil {
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

// letCopiesGo ends the waits of copies for the peers where no kernel will: see Gathered in
// output.cuh.
func (r *Runner) letCopiesGo(call Call) error {
	for peer := range r.World() {
		if err := r.Main.WriteValue(r.Local(call.ready(peer)), r.Epoch); err != nil {
			return fmt.Errorf("letting go of the copies: %w", err)
		}
	}
	return nil
}
