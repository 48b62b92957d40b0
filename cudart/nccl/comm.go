package nccl

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Comm is a rank's end of an initialized communicator. All calls come from the
// OS thread that has the device's context, but for Abort and AsyncError: those
// may come from any thread, while another waits for enqueued work.
type Comm struct {
	lib         *Library
	rank, world int
	handle      atomic.Uintptr // ncclComm_t; 0 once closed or aborted
	args        [8]uintptr     // see enqueue
}

// Init joins the communicator that id names, as one of world ranks. All ranks
// call it, with the device's primary context current, and it waits for all of
// them without a bound of its own: the caller watches the time. The caller
// closes or aborts the communicator.
func (l *Library) Init(rank, world int, id UniqueID) (*Comm, error) {
	if world < 1 || rank < 0 || rank >= world {
		return nil, fmt.Errorf("initializing NCCL: there is no rank %d among %d", rank, world)
	}
	var handle uintptr
	if err := l.initRank(&handle, rank, world, &id); err != nil {
		return nil, fmt.Errorf("initializing rank %d of %d: %w", rank, world, err)
	}
	c := &Comm{lib: l, rank: rank, world: world}
	c.handle.Store(handle)
	return c, nil
}

// initRank takes the newer entry point where there is one: its id travels by
// address, as everything else does, and its configuration may be null.
func (l *Library) initRank(handle *uintptr, rank, world int, id *UniqueID) error {
	const ids = 1
	if f := l.fns.initRankScalable; f.Found() {
		return l.check(f, f.Call(uintptr(unsafe.Pointer(handle)), uintptr(world), uintptr(rank),
			ids, uintptr(unsafe.Pointer(id)), 0))
	}
	return l.check(l.fns.initRank, l.fns.initByValue(handle, int32(world), byValue{*id}, int32(rank)))
}

// AsyncError is what went wrong in the background since, on this rank or, as
// [ErrRemote], on another.
func (c *Comm) AsyncError() error {
	var background int32
	f := c.lib.fns.asyncError
	if err := c.lib.check(f, f.Call(c.handle.Load(), uintptr(unsafe.Pointer(&background)))); err != nil {
		return err
	}
	if Result(background) == ErrInProgress {
		return nil
	}
	return c.lib.check(f, background)
}

// Abort ends the communicator without waiting for the other ranks. What was
// enqueued on it ends too, and its results are void.
func (c *Comm) Abort() error {
	handle := c.handle.Swap(0)
	if handle == 0 {
		return nil
	}
	f := c.lib.fns.abort
	return c.lib.check(f, f.Call(handle))
}

// Close waits for the work enqueued so far, in which all ranks must take part,
// and releases the communicator. It does nothing after Close or Abort.
func (c *Comm) Close() error {
	handle := c.handle.Swap(0)
	if handle == 0 {
		return nil
	}
	var err error
	if f := c.lib.fns.finalize; f.Found() {
		err = c.lib.check(f, f.Call(handle))
	}
	f := c.lib.fns.destroy
	return errors.Join(err, c.lib.check(f, f.Call(handle)))
}
