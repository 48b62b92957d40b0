package foreign

import (
	"errors"

	"gpurun/cudart"
	"gpurun/cudart/nccl"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
)

// ncclLibrary is this rank's side of a communicator.
type ncclLibrary struct {
	lib  *nccl.Library
	comm *nccl.Comm // nil until the ranks have joined
}

func openNCCL(path string) (library.Library, error) {
	lib, err := nccl.Open(path)
	if err != nil {
		return nil, err
	}
	return &ncclLibrary{lib: lib}, nil
}

func (l *ncclLibrary) Title() string { return "NCCL " + l.lib.Version().String() }

func (l *ncclLibrary) NewUniqueID() ([128]byte, error) {
	id, err := l.lib.NewUniqueID()
	return id, err
}

func (l *ncclLibrary) Join(rank, world int, id [128]byte) (err error) {
	l.comm, err = l.lib.Init(rank, world, id)
	return err
}

func (l *ncclLibrary) Leave() error { return l.comm.Close() }

func (l *ncclLibrary) Abort() error {
	if l.comm == nil {
		return nil
	}
	return l.comm.Abort()
}

func (l *ncclLibrary) Err() error { return l.comm.AsyncError() }

func (l *ncclLibrary) HasHeap() bool { return false }

func (l *ncclLibrary) Heap(int64, bool) (symm.NVSHMEM, error) {
	return nil, errors.New("NCCL has no symmetric heap")
}

// ncclTypes and ncclOps are NCCL's numbers, by gpurun's names.
var (
	ncclTypes = map[string]nccl.DataType{
		collective.Int8.Name: nccl.Int8, collective.UInt8.Name: nccl.Uint8,
		collective.Int32.Name: nccl.Int32, collective.UInt32.Name: nccl.Uint32,
		collective.Int64.Name: nccl.Int64, collective.UInt64.Name: nccl.Uint64,
		collective.Half.Name: nccl.Float16, collective.Float.Name: nccl.Float32,
		collective.Double.Name: nccl.Float64, collective.BFloat16.Name: nccl.BFloat16,
		collective.F8E4M3.Name: nccl.Float8e4m3, collective.F8E5M2.Name: nccl.Float8e5m2,
	}
	ncclOps = map[collective.Op]nccl.RedOp{
		collective.Sum: nccl.Sum, collective.Prod: nccl.Prod, collective.Max: nccl.Max,
		collective.Min: nccl.Min, collective.Avg: nccl.Avg, collective.None: nccl.Sum,
	}
)

// Supports asks for what the version lacks. Types that are only moved are moved as
// bytes, so that any version takes them.
func (l *ncclLibrary) Supports(_ string, d collective.DType, op collective.Op) error {
	if op == collective.None {
		return nil
	}
	return l.lib.Supports(ncclTypes[d.Name], ncclOps[op])
}

func (l *ncclLibrary) Enqueue(s cudart.Stream, j collective.LibraryCall) error {
	stream, err := handleOf(s)
	if err != nil {
		return err
	}
	t, op := ncclTypes[j.DType.Name], ncclOps[j.Op]
	count := j.Count
	if j.Op == collective.None {
		t, count = nccl.Int8, count*int64(j.DType.Size)
	}
	switch j.Collective {
	case "allreduce":
		return l.comm.AllReduce(j.Send, j.Recv, count, t, op, stream)
	case "reducescatter":
		return l.comm.ReduceScatter(j.Send, j.Recv, count, t, op, stream)
	case "reduce":
		return l.comm.Reduce(j.Send, j.Recv, count, t, op, j.Root, stream)
	case "allgather":
		return l.comm.AllGather(j.Send, j.Recv, count, t, stream)
	case "broadcast":
		return l.comm.Broadcast(j.Send, j.Recv, count, t, j.Root, stream)
	case "alltoall":
		return l.comm.AllToAll(j.Send, j.Recv, count, t, stream)
	}
	return unknown(l.Title(), j.Collective)
}
