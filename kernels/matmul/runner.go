package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul/schedule"
)

// Runner is one rank's side of a group that multiplies together. Every rank makes the
// same calls in the same order. It belongs to one goroutine.
type Runner struct {
	// Comm has the symmetric memory, its barriers, and the kernels loaded so far.
	*collective.Comm
	Device cudart.Device
	// Main is the stream that calls are enqueued on. Copies is one for what overlaps
	// with them; its work goes first. Both belong to the caller.
	Main, Copies cudart.Stream
	// SMs is the number of multiprocessors, the least of all ranks' devices.
	SMs int
	// LaunchesBlock: on some rank's device a launch returns only when the kernel has ended. All ranks give the same value,
	// because it decides whether products are pushed or copied.
	LaunchesBlock bool
	// Epoch counts the fused calls, on all ranks alike.
	Epoch uint32
	// Placement places the clusters of a kernel that has one for each pair of multiprocessors. One of another length, such as
	// nil, is replaced when it is first needed.
	Placement schedule.Placement
	// BLAS is the library that multiplies for algorithms that need one; nil is none.
	BLAS BLAS

	partials, partialsReady cudart.DevicePtr // see Runner.preparePartials

	maps           map[matrix]encodedMap
	forked, joined cudart.Event  // where Copies and localCopies fork from Main, and where localCopies joins it
	localCopies    cudart.Stream // for the copy of the local shard; it is freed with the device
	recorder       *recorder     // of the call that is being recorded
}

// Call is one invocation of an operation. Where things lie is given in bytes from
// the base of symmetric memory. Counters and Progress belong to all calls of a runner;
// before the first, all their words are zero, as Runner.Epoch is.
type Call struct {
	Problem
	A, AFull, B, C              int64
	Staging, Counters, Progress int64
	// Splits is how many chunks each rank's shard of A is copied in; at least 1.
	Splits int
	// Trace is where kernels note when they did what, or 0.
	Trace cudart.DevicePtr
}

// ProgressBytes is the size of the words by which a call signals its progress: for each rank whether it has begun, has copied
// what it gets from this one, has stored its sums, and which chunks of products it has produced; and for each chunk of A
// or of products whether it has arrived.
func ProgressBytes(world, splits int) int64 {
	return wordsOfRanks + 4*int64(world)*int64(max(splits, maxProductChunks))
}

// rankWords is the size of one word for each rank, and wordsOfRanks that of all words that ranks store to each other.
const (
	rankWords    = 4 * collective.MaxRanks
	wordsOfRanks = (3 + maxProductChunks) * rankWords
)

// begun, copied and stored are the offsets of the words of a rank, produced those of copied chunks of products, and counter
// those of counters behind the first, which counts stored parts; in bytes from the base of symmetric memory. See Params.
func (c Call) begun(rank int) int64   { return c.Progress + 4*int64(rank) }
func (c Call) copied(rank int) int64  { return c.begun(rank) + rankWords }
func (c Call) stored(rank int) int64  { return c.copied(rank) + rankWords }
func (c Call) produced(i int64) int64 { return c.stored(0) + rankWords + 4*i }

func (c Call) counter(i int64) int64 { return c.Counters + 4*(1+i) }

// MaxSplits bounds the chunks of a shard.
const MaxSplits = 256

// Params is the parameter block of a call.
func (r *Runner) Params(call Call) Params {
	at := func(offset int64) uint64 { return uint64(r.Local(offset)) }
	p := Params{
		Params: r.Comm.Params(collective.Call{DType: call.DType}),
		A:      at(call.A), AFull: at(call.AFull), B: at(call.B), C: at(call.C),
		Staging: at(call.Staging), StoredCount: at(call.Counters), Counters: at(call.counter(0)),
		Begun: at(call.begun(0)), Copied: at(call.copied(0)), Stored: at(call.stored(0)), Produced: at(call.produced(0)),
		Progress: at(call.Progress + wordsOfRanks),
		Trace:    uint64(call.Trace),
		M:        call.M, N: call.N, K: call.K,
		Splits: uint32(max(call.Splits, 1)),
	}
	shard := (call.M + int64(r.World()) - 1) / int64(r.World())
	p.ChunkRows = (shard + int64(p.Splits) - 1) / int64(p.Splits)
	return p
}

// Prepare loads what a call of the algorithm launches, and prepares what it reads. To load a module the driver may wait for
// running kernels, and GPCs waits for the main stream. Those may wait for a peer: so all ranks of one process prepare before
// any of them enqueues.
func (r *Runner) Prepare(a *Algorithm, call Call) error {
	return a.Prepare(r, call)
}

// Enqueue puts a call on the main stream.
func (r *Runner) Enqueue(a *Algorithm, call Call) error {
	return a.Enqueue(r, call)
}
