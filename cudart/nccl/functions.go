package nccl

import "gpurun/cudart/dl"

// byValue is ncclUniqueId as a C structure, which purego passes by value.
type byValue struct{ internal UniqueID }

// functions are the entry points that this package calls. Those that only some
// versions have may be the zero Func.
type functions struct {
	getVersion, getUniqueID, errorString, lastError                  dl.Func
	initRank, initRankScalable, finalize, destroy, abort             dl.Func
	asyncError, groupStart, groupEnd, send, recv                     dl.Func
	allReduce, reduceScatter, allGather, broadcast, reduce, allToAll dl.Func
	windowRegister, windowDeregister                                 dl.Func

	// initByValue is initRank, whose 128-byte id travels by value and so has no
	// place among the integers of a dl.Func.
	initByValue func(comm *uintptr, world int32, id byValue, rank int32) int32
}

// versionBindings are what tells the version and explains errors.
func (f *functions) versionBindings() []dl.Binding {
	return []dl.Binding{
		dl.Required(&f.getVersion, "ncclGetVersion"),
		dl.Required(&f.errorString, "ncclGetErrorString"),
		dl.Optional(&f.lastError, "ncclGetLastError"), // since 2.13
	}
}

// bindings are the rest.
func (f *functions) bindings() []dl.Binding {
	return []dl.Binding{
		dl.Required(&f.getUniqueID, "ncclGetUniqueId"),
		dl.Required(&f.initRank, "ncclCommInitRank"),
		dl.Required(&f.destroy, "ncclCommDestroy"),
		dl.Required(&f.abort, "ncclCommAbort"),
		dl.Required(&f.asyncError, "ncclCommGetAsyncError"),
		dl.Required(&f.groupStart, "ncclGroupStart"),
		dl.Required(&f.groupEnd, "ncclGroupEnd"),
		dl.Required(&f.send, "ncclSend"),
		dl.Required(&f.recv, "ncclRecv"),
		dl.Required(&f.allReduce, "ncclAllReduce"),
		dl.Required(&f.reduceScatter, "ncclReduceScatter"),
		dl.Required(&f.allGather, "ncclAllGather"),
		dl.Required(&f.broadcast, "ncclBroadcast"),
		dl.Required(&f.reduce, "ncclReduce"),
		dl.Optional(&f.initRankScalable, "ncclCommInitRankScalable"), // since 2.23
		dl.Optional(&f.finalize, "ncclCommFinalize"),                 // since 2.14
		dl.Optional(&f.allToAll, "ncclAlltoAll"),                     // since 2.28
		dl.Optional(&f.windowRegister, "ncclCommWindowRegister"),     // since 2.27
		dl.Optional(&f.windowDeregister, "ncclCommWindowDeregister"), // since 2.27
	}
}
