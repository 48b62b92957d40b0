package nccl

import (
	"errors"

	"github.com/ebitengine/purego"

	"gpurun/cudart/dl"
)

// byValue is ncclUniqueId as a C structure, which purego passes by value.
type byValue struct{ internal UniqueID }

// functions are the entry points that this package calls. Those that only some
// versions have may be the zero Func.
type functions struct {
	getVersion, getUniqueID, errorString, lastError                  dl.Func
	initRank, initRankScalable, finalize, destroy, abort             dl.Func
	asyncError, groupStart, groupEnd, send, recv                     dl.Func
	allReduce, reduceScatter, allGather, broadcast, reduce, allToAll dl.Func

	// initByValue is initRank, whose 128-byte id travels by value and so has no
	// place among the integers of a dl.Func.
	initByValue func(comm *uintptr, world int32, id byValue, rank int32) int32
}

// entry says which function of the library belongs into which field.
type entry struct {
	to   *dl.Func
	name string
}

// bind finds what tells the version and explains errors.
func (f *functions) bind(lib *dl.Library) error {
	f.lastError, _ = lib.Func("ncclGetLastError") // since 2.13
	return bind(lib, []entry{
		{&f.getVersion, "ncclGetVersion"},
		{&f.errorString, "ncclGetErrorString"},
	})
}

// bindCollectives finds the rest, once the version is known to do.
func (f *functions) bindCollectives(lib *dl.Library) error {
	f.initRankScalable, _ = lib.Func("ncclCommInitRankScalable") // since 2.23
	f.finalize, _ = lib.Func("ncclCommFinalize")                 // since 2.14
	f.allToAll, _ = lib.Func("ncclAlltoAll")                     // since 2.28
	err := bind(lib, []entry{
		{&f.getUniqueID, "ncclGetUniqueId"},
		{&f.initRank, "ncclCommInitRank"},
		{&f.destroy, "ncclCommDestroy"},
		{&f.abort, "ncclCommAbort"},
		{&f.asyncError, "ncclCommGetAsyncError"},
		{&f.groupStart, "ncclGroupStart"},
		{&f.groupEnd, "ncclGroupEnd"},
		{&f.send, "ncclSend"},
		{&f.recv, "ncclRecv"},
		{&f.allReduce, "ncclAllReduce"},
		{&f.reduceScatter, "ncclReduceScatter"},
		{&f.allGather, "ncclAllGather"},
		{&f.broadcast, "ncclBroadcast"},
		{&f.reduce, "ncclReduce"},
	})
	if err != nil {
		return err
	}
	purego.RegisterFunc(&f.initByValue, f.initRank.Addr())
	return nil
}

func bind(lib *dl.Library, entries []entry) error {
	var missing []error
	for _, e := range entries {
		var err error
		if *e.to, err = lib.Func(e.name); err != nil {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}
