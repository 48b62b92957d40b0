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

// cutProducts cuts each rank's products of a shard into chunks of whole tiles, and has the kernel leave them in the
// outbox if they are copied. A shard's are made one after the other or, of sums that go everywhere, a chunk of each shard
// in turn: see Interleaved in tiles.cuh. Such chunks of all shards are a round of tiles at least, one for each block or
// cluster, so that products have a round to arrive in before their owner's tiles wait for them.
func (l *launching) cutProducts(p Problem, world int, everywhere, copied bool) {
	g := l.gemm
	parts := g.partsOfShard(p, world)
	all, chunk := parts/g.TileParts, int64(1)
	if copied {
		l.Outbox = l.Staging + uint64(g.boxBytes(p, world))
		chunk = tiles(all, min(tiles(parts*g.PartBytes, productChunk), maxProductChunks))
	}
	if everywhere {
		chunk = max(chunk, tiles(all*int64(l.shape.Blocks), g.Tiles(p, world)))
	}
	l.Segment, l.ChunkParts, l.Splits, l.together = uint32(chunk), uint32(chunk*g.TileParts), uint32(tiles(all, chunk)), 1
	if !everywhere {
		l.together = l.Splits
	}
}

// pullBeside launches the kernel that makes products, and has copies of the peers' products for this rank made
// meanwhile. They wait for nothing but the peers' word that a chunk has been made, in this call, which none gives before
// this rank's kernel has said that it has begun. So they come behind it, should both go through one queue of the
// hardware, where nothing overtakes. Among themselves they come in the order in which chunks are made: where shards are
// interleaved, a copy in front that waited for a later chunk would hold up the sums without which peers do not get to it.
func (r *Runner) pullBeside(call Call, l *launching, launch func() error) error {
	if err := launch(); err != nil {
		return err
	}
	for first := uint32(0); first < l.Splits; first += l.together {
		for k := 1; k < r.World(); k++ {
			from := (r.Rank() + r.World() - k) % r.World() // the rank before makes this one's first
			for chunk := first; chunk < first+l.together; chunk++ {
				if err := r.pullChunk(call, l, from, int64(chunk)); err != nil {
					return fmt.Errorf("copying the products of rank %d: %w", from, err)
				}
			}
		}
	}
	return nil
}

// pullChunk copies a chunk of a peer's products for this rank when it is there, followed by its word of progress.
func (r *Runner) pullChunk(call Call, l *launching, from int, chunk int64) error {
	parts, first := l.gemm.partsOfShard(call.Problem, r.World()), chunk*int64(l.ChunkParts)
	place := func(rank int) int64 { return (int64(rank)*parts + first) * l.gemm.PartBytes }
	outbox := call.Staging + l.gemm.boxBytes(call.Problem, r.World())
	bytes := min(int64(l.ChunkParts), parts-first) * l.gemm.PartBytes
	word := int64(from)*int64(l.Splits) + chunk
	return errors.Join(
		r.Copies.WaitValue(r.Local(call.made(word)), l.Epoch),
		r.copyChunk(r.Copies, CopyTimes{Shard: r.Rank(), From: from, Chunk: int(chunk), Bytes: bytes},
			r.Local(call.Staging+place(from)), r.Peer(from, outbox+place(r.Rank()))),
		r.Copies.WriteValue(cudart.DevicePtr(l.Progress)+cudart.DevicePtr(4*word), l.Epoch),
	)
}
