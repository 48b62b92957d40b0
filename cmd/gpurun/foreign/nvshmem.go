package foreign

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"gpurun/cudart"
	"gpurun/cudart/nvshmem"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
)

// nvshmemLibrary works on memory of the library's own heap alone. The heap joins
// and leaves for it.
type nvshmemLibrary struct {
	lib *nvshmem.Library
	// ours are the variables that Heap has set, which are not the user's.
	ours map[string]bool
}

func openNVSHMEM(path string) (library.Library, error) {
	lib, err := nvshmem.Open(path)
	if err != nil {
		return nil, err
	}
	return nvshmemLibrary{lib, map[string]bool{}}, nil
}

func (l nvshmemLibrary) Title() string { return "NVSHMEM " + l.lib.Version().String() }

func (l nvshmemLibrary) NewUniqueID() ([128]byte, error) { return l.lib.NewUniqueID() }

func (l nvshmemLibrary) Join(int, int, [128]byte) error {
	return errors.New("NVSHMEM is joined by its heap")
}

func (l nvshmemLibrary) Leave() error { return nil }
func (l nvshmemLibrary) Abort() error { return nil }
func (l nvshmemLibrary) Err() error   { return nil }

func (l nvshmemLibrary) HasHeap() bool { return true }

// Heap sets the variables that NVSHMEM reads when it starts, but for the user's.
func (l nvshmemLibrary) Heap(bytes int64, oneMachine bool) (symm.NVSHMEM, error) {
	users := func(name string) string {
		if l.ours[name] {
			return ""
		}
		return os.Getenv(name)
	}
	for _, assignment := range l.lib.Environment(users, bytes, oneMachine) {
		name, value, _ := strings.Cut(assignment, "=")
		l.ours[name] = true
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("setting %s for %s: %w", name, l.Title(), err)
		}
	}
	return l.lib, nil
}

// nvshmemCollectives is how NVSHMEM does each collective that it has. A new collective is
// added to its calls.
var nvshmemCollectives = &collectives[*nvshmem.Library, nvshmem.DataType, nvshmem.RedOp]{
	calls: map[string]func(*nvshmem.Library, nvshmemArguments) error{
		"allreduce": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.AllReduce(a.recv, a.send, a.count, a.dtype, a.op, a.stream)
		},
		"reducescatter": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.ReduceScatter(a.recv, a.send, a.count, a.dtype, a.op, a.stream)
		},
		"allgather": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.AllGather(a.recv, a.send, a.count, a.dtype, a.stream)
		},
		"broadcast": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.Broadcast(a.recv, a.send, a.count, a.dtype, a.root, a.stream)
		},
		"alltoall": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.AllToAll(a.recv, a.send, a.count, a.dtype, a.stream)
		},
		"barrier": func(l *nvshmem.Library, a nvshmemArguments) error {
			return l.BarrierOnStream(a.stream)
		},
	},
	types: map[string]nvshmem.DataType{
		collective.Int8.Name: nvshmem.Int8, collective.UInt8.Name: nvshmem.Uint8,
		collective.Int32.Name: nvshmem.Int32, collective.UInt32.Name: nvshmem.Uint32,
		collective.Int64.Name: nvshmem.Int64, collective.UInt64.Name: nvshmem.Uint64,
		collective.Half.Name: nvshmem.Float16, collective.Float.Name: nvshmem.Float32,
		collective.Double.Name: nvshmem.Float64, collective.BFloat16.Name: nvshmem.BFloat16,
		collective.F8E4M3.Name: nvshmem.Float8e4m3, collective.F8E5M2.Name: nvshmem.Float8e5m2,
	},
	ops: map[collective.Op]nvshmem.RedOp{
		collective.Sum: nvshmem.Sum, collective.Prod: nvshmem.Prod, collective.Max: nvshmem.Max,
		collective.Min: nvshmem.Min, collective.Avg: nvshmem.Avg,
	},
}

type nvshmemArguments = arguments[nvshmem.DataType, nvshmem.RedOp]

func (l nvshmemLibrary) Supports(of string, d collective.DType, op collective.Op) error {
	return nvshmemCollectives.supports(l.Title(), of, d, op, l.lib.Supports)
}

func (l nvshmemLibrary) Enqueue(s cudart.Stream, j collective.LibraryCall) error {
	return nvshmemCollectives.enqueue(l.lib, l.Title(), s, j)
}
