package collective

import "gpurun/cudart"

// Of an algorithm by bulk copies: how many threads its blocks have, of which one makes
// the copies, and the least that is worth a block.
const (
	bulkThreads   = 256
	leastBulkTile = 2 << 10
)

// BulkLaunch is the Enqueue of an algorithm that is a single kernel, whose blocks
// share so many bytes and take chunks of them in turn, by bulk copies.
func BulkLaunch(a *Algorithm, shared func(world int, call Call) int64) func(*Comm, cudart.Stream, Call) error {
	return func(c *Comm, s cudart.Stream, call Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		p, bytes := c.Params(call), shared(c.World(), call)
		shape := cudart.Launch{
			Blocks:      c.blocks(a, call, ceilDiv(bytes, leastBulkTile)),
			Threads:     bulkThreads,
			SharedBytes: BulkSharedBytes,
		}
		p.TileBytes = min(roundUp(ceilDiv(bytes, int64(shape.Blocks)), vecBytes), BulkStageBytes)
		return c.launch(s, a, call, shape, &p)
	}
}
