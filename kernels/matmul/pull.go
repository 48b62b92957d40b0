package matmul

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// Products on their way to their owners. Each rank has an inbox, with a place for all ranks' products of its own shard,
// and behind it, for copies, an outbox, for its products of all shards; both consist of parts of tiles, as they lie in
// shared memory, in the order in which they are made. See Summed in summed.cuh.

// Products are copied in chunks of about productChunk bytes: while the next ones are made, and large enough for a
// copy engine to be busy with them; and in no more than maxProductChunks for each rank, for the host's sake.
const (
	productChunk     = 2 << 20
	maxProductChunks = 16
)

// partsOfShard is in how many parts each rank's products of a shard come.
func (g *GEMM) partsOfShard(p Problem, world int) int64 { return g.Parts(rowsOfShard(p.M, world), p.N) }

// boxBytes is the size of an inbox or outbox.
func (g *GEMM) boxBytes(p Problem, world int) int64 {
	return int64(world) * g.partsOfShard(p, world) * g.PartBytes
}

// copyProducts has the kernel leave its products in the outbox.
func (l *launching) copyProducts(p Problem, world int) {
	parts := l.gemm.partsOfShard(p, world)
	chunks := min(tiles(parts*l.gemm.PartBytes, productChunk), maxProductChunks)
	l.Outbox = l.Staging + uint64(l.gemm.boxBytes(p, world))
	l.Splits, l.ChunkParts = uint32(chunks), uint32(tiles(parts, chunks))
}

// pushProducts has the kernel store its products in the owners' inboxes. Each part is a chunk, whose word is behind the
// counters.
func (l *launching) pushProducts(p Problem, world int) {
	l.Splits, l.ChunkParts = uint32(l.gemm.partsOfShard(p, world)), 1
	l.Made = l.Counters + uint64(4*world*maxProductChunks)
}

// productWords are those of Call.Counters, where each rank's products of a shard come in so many parts: one that counts
// parts that stay, counters of chunks that are copied, and a word for each part that is pushed.
func productWords(world int, parts int64) int64 { return 1 + int64(world)*(maxProductChunks+parts) }

// pullBeside launches the kernel that makes products, and has copies of the peers' products for this rank made
// meanwhile. They wait for nothing but the peers' word that a chunk has been made, in this call, which none gives before
// this rank's kernel has said that it has begun. So they come behind it, should both go through one queue of the
// hardware, where nothing overtakes.
func (r *Runner) pullBeside(call Call, l *launching, launch func() error) error {
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

// pullProducts copies a peer's products for this rank when they are there, chunk by chunk, each followed by its word of
// progress.
func (r *Runner) pullProducts(call Call, l *launching, from int) error {
	parts := l.gemm.partsOfShard(call.Problem, r.World())
	place := func(rank int, part int64) int64 { return (int64(rank)*parts + part) * l.gemm.PartBytes }
	outbox := call.Staging + l.gemm.boxBytes(call.Problem, r.World())
	for chunk, first := int64(0), int64(0); first < parts; chunk, first = chunk+1, first+int64(l.ChunkParts) {
		count := min(int64(l.ChunkParts), parts-first)
		word := int64(from)*int64(l.Splits) + chunk
		to, source := r.Local(call.Staging+place(from, first)), r.Peer(from, outbox+place(r.Rank(), first))
		err := errors.Join(
			r.Copies.WaitValue(r.Local(call.made(word)), l.Epoch),
			r.copyChunk(r.Copies, CopyTimes{Shard: r.Rank(), From: from, Chunk: int(chunk), Bytes: count * l.gemm.PartBytes}, to, source),
			r.Copies.WriteValue(cudart.DevicePtr(l.Progress)+cudart.DevicePtr(4*word), l.Epoch),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
