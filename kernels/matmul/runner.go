package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
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
	// LaunchesBlock: on some rank's device a launch returns when the kernel has ended. All ranks say the same, as they
	// choose by it how to send, and what one pushes no other copies.
	LaunchesBlock bool
	// Epoch counts the fused calls, on all ranks alike. The words of progress begin at it.
	Epoch uint32
	// Placement is that of the clusters of a kernel that has one for each pair of multiprocessors. Of another length, such as
	// nil, it is replaced when it is first needed.
	Placement Placement
	// BLAS is the library that multiplies for algorithms that need one; nil is none.
	BLAS BLAS

	partials, partialsThere cudart.DevicePtr // see Runner.preparePartials

	maps     map[matrix]encodedMap
	forks    [2]cudart.Event // where Copies and own leave Main, and where own comes back
	own      cudart.Stream   // for the copy of the own shard; it goes with the device
	recorder *recorder       // of the call that is being recorded
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

// ProgressBytes is the room for the words by which a call tells how far it is: of each rank
// whether it has begun, whether it has copied what it gets from this one, and which chunks of
// products it has made, and of each chunk, of A or of products, whether it is there.
func ProgressBytes(world, splits int) int64 {
	return wordsOfRanks + 4*int64(world)*int64(max(splits, maxProductChunks))
}

// rankWords is the room for a word of each rank, and wordsOfRanks that for all words that ranks tell each other,
// wherever those of progress end.
const (
	rankWords    = 4 * collective.MaxRanks
	wordsOfRanks = (3 + maxProductChunks) * rankWords
)

// ready, taken and done are where the words of a rank lie, made where those of copied chunks of products do, counter where one
// of the counters does, of which the first counts parts that stay, in bytes from the base of symmetric memory; see
// Params.
func (c Call) ready(rank int) int64 { return c.Progress + 4*int64(rank) }
func (c Call) taken(rank int) int64 { return c.ready(rank) + rankWords }
func (c Call) done(rank int) int64  { return c.taken(rank) + rankWords }
func (c Call) made(i int64) int64   { return c.done(0) + rankWords + 4*i }

func (c Call) counter(i int64) int64 { return c.Counters + 4*(1+i) }

// MaxSplits bounds the chunks of a shard.
const MaxSplits = 256

// Params is the parameter block of a call.
func (r *Runner) Params(call Call) Params {
	at := func(offset int64) uint64 { return uint64(r.Local(offset)) }
	p := Params{
		Params: r.Comm.Params(collective.Call{DType: call.DType}),
		A:      at(call.A), AFull: at(call.AFull), B: at(call.B), C: at(call.C),
		Staging: at(call.Staging), Kept: at(call.Counters), Counters: at(call.counter(0)),
		Ready: at(call.ready(0)), Taken: at(call.taken(0)), Done: at(call.done(0)), Made: at(call.made(0)), Progress: at(call.Progress + wordsOfRanks),
		Trace: uint64(call.Trace),
		M:     call.M, N: call.N, K: call.K,
		Splits: uint32(max(call.Splits, 1)),
	}
	shard := (call.M + int64(r.World()) - 1) / int64(r.World())
	p.ChunkRows = (shard + int64(p.Splits) - 1) / int64(p.Splits)
	return p
}

// Prepare loads what a call of the algorithm launches, and gets ready what it reads.
// To load a module the driver may wait for kernels that run, and to find out where clusters run it waits for the main stream.
// Those may be waiting for a peer: who makes a peer wait for this process prepares before.
func (r *Runner) Prepare(a *Algorithm, call Call) error {
	return a.Prepare(r, call)
}

// Enqueue puts a call on the main stream.
func (r *Runner) Enqueue(a *Algorithm, call Call) error {
	return a.Enqueue(r, call)
}
