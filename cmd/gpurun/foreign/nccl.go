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
	lib   *nccl.Library
	comm  *nccl.Comm // nil until the ranks have joined
	calls *collectives[*nccl.Comm, nccl.DataType, nccl.RedOp]
}

func openNCCL(path string) (library.Library, error) {
	lib, err := nccl.Open(path)
	if err != nil {
		return nil, err
	}
	return &ncclLibrary{lib: lib, calls: ncclCollectives}, nil
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

// ncclCollectives is how NCCL does each collective. A new collective is added to its calls.
var ncclCollectives = &collectives[*nccl.Comm, nccl.DataType, nccl.RedOp]{
	calls: map[string]func(*nccl.Comm, ncclArguments) error{
		"allreduce": func(c *nccl.Comm, a ncclArguments) error {
			return c.AllReduce(a.send, a.recv, a.count, a.dtype, a.op, a.stream)
		},
		"reducescatter": func(c *nccl.Comm, a ncclArguments) error {
			return c.ReduceScatter(a.send, a.recv, a.count, a.dtype, a.op, a.stream)
		},
		"reduce": func(c *nccl.Comm, a ncclArguments) error {
			return c.Reduce(a.send, a.recv, a.count, a.dtype, a.op, a.root, a.stream)
		},
		"allgather": func(c *nccl.Comm, a ncclArguments) error {
			return c.AllGather(a.send, a.recv, a.count, a.dtype, a.stream)
		},
		"broadcast": func(c *nccl.Comm, a ncclArguments) error {
			return c.Broadcast(a.send, a.recv, a.count, a.dtype, a.root, a.stream)
		},
		"alltoall": func(c *nccl.Comm, a ncclArguments) error {
			return c.AllToAll(a.send, a.recv, a.count, a.dtype, a.stream)
		},
		"gather": func(c *nccl.Comm, a ncclArguments) error {
			return c.Gather(a.send, a.recv, a.count, a.dtype, a.root, a.stream)
		},
		"scatter": func(c *nccl.Comm, a ncclArguments) error {
			return c.Scatter(a.send, a.recv, a.count, a.dtype, a.root, a.stream)
		},
	},
	types: map[string]nccl.DataType{
		collective.Int8.Name: nccl.Int8, collective.UInt8.Name: nccl.Uint8,
		collective.Int32.Name: nccl.Int32, collective.UInt32.Name: nccl.Uint32,
		collective.Int64.Name: nccl.Int64, collective.UInt64.Name: nccl.Uint64,
		collective.Half.Name: nccl.Float16, collective.Float.Name: nccl.Float32,
		collective.Double.Name: nccl.Float64, collective.BFloat16.Name: nccl.BFloat16,
		collective.F8E4M3.Name: nccl.Float8e4m3, collective.F8E5M2.Name: nccl.Float8e5m2,
	},
	ops: map[collective.Op]nccl.RedOp{
		collective.Sum: nccl.Sum, collective.Prod: nccl.Prod, collective.Max: nccl.Max,
		collective.Min: nccl.Min, collective.Avg: nccl.Avg,
	},
}

type ncclArguments = arguments[nccl.DataType, nccl.RedOp]

// Supports asks for what the version lacks.
func (l *ncclLibrary) Supports(of string, d collective.DType, op collective.Op) error {
	return l.calls.supports(l.Title(), of, d, op, l.lib.Supports)
}

// Enqueue moves elements that are not reduced as bytes, so that any version takes their type.
func (l *ncclLibrary) Enqueue(s cudart.Stream, j collective.LibraryCall) error {
	if j.Op == collective.None {
		j.Count, j.DType = j.Count*int64(j.DType.Size), collective.Int8
	}
	return l.calls.enqueue(l.comm, l.Title(), s, j)
}
