package nccl

import (
	"errors"

	"gpurun/cudart"
)

// AllReduce enqueues the reduction of count elements of all ranks' send into
// every rank's recv, which may be the same buffer. Like all collectives here it
// returns when the work is enqueued on stream, a CUstream, allocates nothing,
// and all ranks call it with the same counts, types, operations and roots. A
// closed communicator is an [ErrInvalidArgument].
func (c *Comm) AllReduce(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	f := c.lib.fns.allReduce
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op),
		c.handle.Load(), stream))
}

// ReduceScatter enqueues the reduction of all ranks' send, count elements per
// rank, of which rank r receives part r. In place where recv is that part of
// send.
func (c *Comm) ReduceScatter(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	f := c.lib.fns.reduceScatter
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op),
		c.handle.Load(), stream))
}

// AllGather enqueues the collection of count elements of every rank into part r
// of every rank's recv. In place where send is the rank's own part of recv.
func (c *Comm) AllGather(send, recv cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	f := c.lib.fns.allGather
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t),
		c.handle.Load(), stream))
}

// Broadcast enqueues the copy of count elements of root's send into every
// rank's recv, root's too. Only root reads send.
func (c *Comm) Broadcast(send, recv cudart.DevicePtr, count int64, t DataType, root int, stream uintptr) error {
	f := c.lib.fns.broadcast
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(root),
		c.handle.Load(), stream))
}

// Reduce enqueues the reduction of count elements of all ranks' send into
// root's recv. Only root writes recv.
func (c *Comm) Reduce(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, root int, stream uintptr) error {
	f := c.lib.fns.reduce
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), uintptr(root),
		c.handle.Load(), stream))
}

// AllToAll enqueues the exchange of parts of count elements: part p of this
// rank's send becomes part r, the rank's own number, of rank p's recv. The
// buffers must not overlap. NCCL before 2.28 has no such function and makes it
// of sends and receives, which all are one group, and so must not deadlock.
func (c *Comm) AllToAll(send, recv cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	f := c.lib.fns.allToAll
	if !f.Found() {
		return c.exchange(send, recv, count, t, stream)
	}
	return c.lib.check(f, f.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), c.handle.Load(), stream))
}

// exchange is AllToAll by a group, which belongs to the OS thread that starts
// it. A group that was started is ended, whatever happened within.
func (c *Comm) exchange(send, recv cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	fns, handle := &c.lib.fns, c.handle.Load()
	if err := c.lib.check(fns.groupStart, fns.groupStart.Call()); err != nil {
		return err
	}
	var err error
	for peer := 0; peer < c.world && err == nil; peer++ {
		offset := cudart.DevicePtr(int64(peer) * count * int64(t.Size()))
		err = c.lib.check(fns.send, fns.send.Call(uintptr(send+offset), uintptr(count), uintptr(t), uintptr(peer), handle, stream))
		if err == nil {
			err = c.lib.check(fns.recv, fns.recv.Call(uintptr(recv+offset), uintptr(count), uintptr(t), uintptr(peer), handle, stream))
		}
	}
	ended := c.lib.check(fns.groupEnd, fns.groupEnd.Call())
	if err == nil {
		return ended
	}
	return errors.Join(err, ended)
}
