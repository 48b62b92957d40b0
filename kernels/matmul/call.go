package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Call is one invocation of an operation. Offsets are in bytes from the base of symmetric memory. Counters and Progress
// belong to all calls of a runner; before the first, all their words are zero, as Runner.Epoch is.
type Call struct {
	Problem
	A, AFull, B, C              int64
	Staging, Counters, Progress int64
	// Splits is how many chunks each rank's shard of A is copied in; at least 1.
	Splits int
	// Trace is the memory in which kernels record the times of tiles, or 0.
	Trace cudart.DevicePtr
}

// ProgressBytes is the size of the words by which a call signals its progress: for each rank whether it has begun, has
// copied what it gets from this one, has stored its sums, and which chunks of products it has produced; and for each
// chunk of A or of products whether it has arrived.
func ProgressBytes(world, splits int) int64 {
	return wordsOfRanks + 4*int64(world)*int64(max(splits, maxProductChunks))
}

// rankWords is the size of one word for each rank, and wordsOfRanks that of all words that ranks store to each other.
const (
	rankWords    = 4 * collective.MaxRanks
	wordsOfRanks = (3 + maxProductChunks) * rankWords
)

// begun, copied and stored are the offsets of the words of a rank, produced those of copied chunks of products, and
// counter those of counters behind the first, which counts stored parts; in bytes from the base of symmetric memory.
// See Params.
func (c Call) begun(rank int) int64   { return c.Progress + 4*int64(rank) }
func (c Call) copied(rank int) int64  { return c.begun(rank) + rankWords }
func (c Call) stored(rank int) int64  { return c.copied(rank) + rankWords }
func (c Call) produced(i int64) int64 { return c.stored(0) + rankWords + 4*i }

func (c Call) counter(i int64) int64 { return c.Counters + 4*(1+i) }

const (
	// MaxSplits bounds the chunks of a shard of A.
	MaxSplits = 256
	// maxProductChunks bounds the chunks of each rank's products for a shard, and with them the host's work.
	maxProductChunks = 16
)
