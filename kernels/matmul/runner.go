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
	// Placement places the clusters of a kernel that has one for each pair of multiprocessors. One of another length,
	// such as nil, is replaced when it is first needed.
	Placement schedule.Placement
	// BLAS is the library that multiplies for algorithms that need one; nil is none.
	BLAS BLAS

	partials, partialsReady cudart.DevicePtr // see Runner.preparePartials

	maps           tensorMaps
	chosen         map[chosenFor]chosen
	forked, joined cudart.Event  // where Copies and localCopies fork from Main, and where localCopies joins it
	localCopies    cudart.Stream // for the copy of the local shard; it is freed with the device
	recorder       *recorder     // of the call that is being recorded
}

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

// GPU is what decides which GEMM multiplies, and in how many waves: the compute capability, 10*major+minor, and the
// number of multiprocessors, the least of all ranks' devices.
type GPU struct{ SM, SMs int }

// gpu is this rank's GPU, with the multiprocessors of the smallest of all ranks.
func (r *Runner) gpu() GPU { return GPU{r.SM(), r.SMs} }

// tensorMap returns the tensor map of a matrix.
func (r *Runner) tensorMap(m matrix) (encodedMap, error) {
	if r.maps == nil {
		r.maps = tensorMaps{}
	}
	return r.maps.encode(r.Device, m)
}

// copyChunk enqueues the copy of a chunk, between two events if the call is being recorded.
func (r *Runner) copyChunk(s cudart.Stream, c CopyTimes, dst, src cudart.DevicePtr) error {
	if r.recorder == nil {
		return s.Copy(dst, src, c.Bytes)
	}
	return r.recorder.copy(s, c, dst, src)
}
