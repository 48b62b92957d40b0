package collective

import "gpurun/cudart"

// leastBulkTile is the fewest bytes for which an algorithm by bulk copies launches another block.
const leastBulkTile = 2 << 10

// BulkLaunch returns the Enqueue of an algorithm of a single kernel. Its blocks divide so many
// bytes into chunks, take the chunks in turn, and move them by bulk copies. A block has a.Threads threads.
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
			Threads:     a.Threads,
			SharedBytes: BulkSharedBytes,
		}
		p.TileBytes = min(roundUp(ceilDiv(bytes, int64(shape.Blocks)), vecBytes), BulkStageBytes)
		return c.launch(s, a, call, shape, &p)
	}
}
