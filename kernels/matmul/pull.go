package matmul

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// How products get to their owners. The staging of each rank begins with an inbox for all ranks' products of its shard.
// If products are copied, an outbox for its products of all shards follows. Both hold parts of tiles with the layout of
// shared memory, in the order in which they are made. See cuda/reduced.cuh.

// productChunk is the size of a chunk of products in bytes, about: small enough to be copied while the kernel computes
// the next chunk, large enough to keep a copy engine busy.
const productChunk = 2 << 20

// copyProducts has the kernel leave its products in the outbox.
func (l *launchPlan) copyProducts(p Problem, world int) {
	parts := l.gemm.partsOfShard(p, world)
	chunks := min(tiles(parts*l.gemm.PartBytes, productChunk), maxProductChunks)
	l.Outbox = l.Staging + uint64(l.gemm.boxBytes(p, world))
	l.Splits, l.ChunkParts = uint32(chunks), uint32(tiles(parts, chunks))
}

// pushProducts has the kernel store its products in the owners' inboxes. Each part is a chunk; its word lies behind the
// counters.
func (l *launchPlan) pushProducts(p Problem, world int) {
	l.Splits, l.ChunkParts = uint32(l.gemm.partsOfShard(p, world)), 1
	l.Produced = l.Counters + uint64(4*world*maxProductChunks)
}

// productWords is the number of words at Call.Counters for so many parts of a shard: one that counts stored parts, the
// counters of chunks that are copied, and a word for each part that is pushed.
func productWords(world int, parts int64) int64 { return 1 + int64(world)*(maxProductChunks+parts) }

// launchAndPull launches the kernel that makes products, and then enqueues the copies of the peers' products for this
// rank. A copy waits for the peer's signal that a chunk has been produced in this call, which no peer gives before
// this rank's kernel has signaled that it has begun. So the copies must be enqueued after the kernel: both may share
// one hardware queue, which runs in order.
func (r *Runner) launchAndPull(call Call, l *launchPlan, launch func() error) error {
	if err := launch(); err != nil {
		return err
	}
	for k := 1; k < r.World(); k++ {
		from := (r.Rank() + r.World() - k) % r.World() // the rank before makes this one's first
		if err := r.pullProducts(call, l, from); err != nil {
			return fmt.Errorf("copying the products of rank %d: %w", from, err)
		}
	}
	return nil
}

// pullProducts copies a peer's products for this rank when they are ready, chunk by chunk, and writes the word of
// progress after each chunk.
func (r *Runner) pullProducts(call Call, l *launchPlan, from int) error {
	parts := l.gemm.partsOfShard(call.Problem, r.World())
	offset := func(rank int, part int64) int64 { return (int64(rank)*parts + part) * l.gemm.PartBytes }
	outbox := call.Staging + l.gemm.boxBytes(call.Problem, r.World())
	for chunk, first := int64(0), int64(0); first < parts; chunk, first = chunk+1, first+int64(l.ChunkParts) {
		count := min(int64(l.ChunkParts), parts-first)
		word := int64(from)*int64(l.Splits) + chunk
		to, source := r.Local(call.Staging+offset(from, first)), r.Peer(from, outbox+offset(r.Rank(), first))
		err := errors.Join(
			r.Copies.WaitValue(r.Local(call.produced(word)), l.Epoch),
			r.copyChunk(r.Copies, CopyTimes{Shard: r.Rank(), From: from, Chunk: int(chunk), Bytes: count * l.gemm.PartBytes}, to,
				source),
			r.Copies.WriteValue(cudart.DevicePtr(l.Progress)+cudart.DevicePtr(4*word), l.Epoch),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
