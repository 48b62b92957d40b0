package nvshmem

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// The collectives enqueue work on a stream, a CUstream, for all ranks, and
// return. Buffers are symmetric memory. Counts, types, operations and roots are
// the same on all ranks. As in OpenSHMEM, a rank's dst may be written as soon as
// all ranks have got to the call: BarrierOnStream keeps one that is still read
// from being overwritten.

// BarrierOnStream enqueues a barrier of all ranks, which also completes what
// they wrote.
func (l *Library) BarrierOnStream(stream uintptr) error {
	return l.enqueue(l.fns.barrier, teamWorld, stream)
}

// AllReduce enqueues the reduction of count elements of all ranks' src into
// every rank's dst, which may be the same buffer.
func (l *Library) AllReduce(dst, src cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	if err := l.Supports(t, op); err != nil {
		return err
	}
	return l.enqueue(l.fns.reduce[t][op], teamWorld, uintptr(dst), uintptr(src), uintptr(count), stream)
}

// ReduceScatter enqueues the reduction of all ranks' src, count elements per
// rank, of which rank r receives part r.
func (l *Library) ReduceScatter(dst, src cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	if err := l.Supports(t, op); err != nil {
		return err
	}
	return l.enqueue(l.fns.reduceScatter[t][op], teamWorld, uintptr(dst), uintptr(src), uintptr(count), stream)
}

// AllGather enqueues the collection of count elements of every rank into part r
// of every rank's dst.
func (l *Library) AllGather(dst, src cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	f, err := l.copier(&l.fns.fcollect, t, "fcollect")
	if err != nil {
		return err
	}
	return l.enqueue(f, teamWorld, uintptr(dst), uintptr(src), uintptr(count), stream)
}

// AllToAll enqueues the exchange of parts of count elements: part p of this
// rank's src becomes part r, the rank's own number, of rank p's dst.
func (l *Library) AllToAll(dst, src cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	f, err := l.copier(&l.fns.allToAll, t, "alltoall")
	if err != nil {
		return err
	}
	return l.enqueue(f, teamWorld, uintptr(dst), uintptr(src), uintptr(count), stream)
}

// Broadcast enqueues the copy of count elements of root's src into every rank's
// dst, root's too.
func (l *Library) Broadcast(dst, src cudart.DevicePtr, count int64, t DataType, root int, stream uintptr) error {
	f, err := l.copier(&l.fns.broadcast, t, "broadcast")
	if err != nil {
		return err
	}
	return l.enqueue(f, teamWorld, uintptr(dst), uintptr(src), uintptr(count), uintptr(root), stream)
}

// copier is the function of a family that copies elements of type t.
func (l *Library) copier(family *[types]dl.Func, t DataType, name string) (dl.Func, error) {
	if t < 0 || t >= types || !family[t].Found() {
		return dl.Func{}, fmt.Errorf("NVSHMEM %s has no function for %s of %s", l.version, name, t)
	}
	return family[t], nil
}

// enqueue calls f with arguments that lie in the library: a list that the
// compiler makes for each call would be garbage, as dl.Func lets it escape.
func (l *Library) enqueue(f dl.Func, args ...uintptr) error {
	n := copy(l.args[:], args)
	return check(f, f.Call(l.args[:n]...))
}
