package nccl

import (
	"errors"
	"runtime"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// AllReduce enqueues the reduction of count elements of all ranks' send into
// every rank's recv, which may be the same buffer. Like all collectives here it
// returns when the work is enqueued on stream, a CUstream, allocates nothing,
// and all ranks call it with the same counts, types, operations and roots. A
// closed communicator is an [ErrInvalidArgument].
func (c *Comm) AllReduce(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	return c.enqueue(c.lib.fns.allReduce,
		uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), c.handle.Load(), stream)
}

// ReduceScatter enqueues the reduction of all ranks' send, count elements per
// rank, of which rank r receives part r. In place where recv is that part of
// send.
func (c *Comm) ReduceScatter(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, stream uintptr) error {
	return c.enqueue(c.lib.fns.reduceScatter,
		uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), c.handle.Load(), stream)
}

// AllGather enqueues the collection of count elements of every rank into part r
// of every rank's recv. In place where send is the rank's own part of recv.
func (c *Comm) AllGather(send, recv cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	return c.enqueue(c.lib.fns.allGather,
		uintptr(send), uintptr(recv), uintptr(count), uintptr(t), c.handle.Load(), stream)
}

// Broadcast enqueues the copy of count elements of root's send into every
// rank's recv, root's too. Only root reads send.
func (c *Comm) Broadcast(send, recv cudart.DevicePtr, count int64, t DataType, root int, stream uintptr) error {
	return c.enqueue(c.lib.fns.broadcast,
		uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(root), c.handle.Load(), stream)
}

// Reduce enqueues the reduction of count elements of all ranks' send into
// root's recv. Only root writes recv.
func (c *Comm) Reduce(send, recv cudart.DevicePtr, count int64, t DataType, op RedOp, root int, stream uintptr) error {
	return c.enqueue(c.lib.fns.reduce,
		uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), uintptr(root), c.handle.Load(), stream)
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
	return c.enqueue(f, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), c.handle.Load(), stream)
}

// exchange is AllToAll by a group.
func (c *Comm) exchange(send, recv cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	return c.inGroup(func() error {
		if err := c.transferEach(c.lib.fns.send, send, count, t, stream); err != nil {
			return err
		}
		return c.transferEach(c.lib.fns.recv, recv, count, t, stream)
	})
}

// Gather enqueues the collection of count elements of every rank into part r of
// root's recv. Only root writes recv. In place where send is root's own part of recv. It
// is a group of a send by every rank and of root's receives, since NCCL before 2.28 has no
// such function.
func (c *Comm) Gather(send, recv cudart.DevicePtr, count int64, t DataType, root int, stream uintptr) error {
	return c.inGroup(func() error {
		err := c.transfer(c.lib.fns.send, send, count, t, root, stream)
		if err != nil || c.rank != root {
			return err
		}
		return c.transferEach(c.lib.fns.recv, recv, count, t, stream)
	})
}

// Scatter enqueues the copy of part r of root's send, count elements, into rank r's
// recv, root's too. Only root reads send. In place where recv is root's own part of send.
// It is a group of root's sends and of a receive by every rank, likewise.
func (c *Comm) Scatter(send, recv cudart.DevicePtr, count int64, t DataType, root int, stream uintptr) error {
	return c.inGroup(func() error {
		err := c.transfer(c.lib.fns.recv, recv, count, t, root, stream)
		if err != nil || c.rank != root {
			return err
		}
		return c.transferEach(c.lib.fns.send, send, count, t, stream)
	})
}

// inGroup makes one operation of the sends and receives that enqueue makes. A group
// belongs to the OS thread that starts it: the goroutine stays there. A group that was
// started is ended, whatever happened within.
func (c *Comm) inGroup(enqueue func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.enqueue(c.lib.fns.groupStart); err != nil {
		return err
	}
	err := enqueue()
	ended := c.enqueue(c.lib.fns.groupEnd)
	if err == nil {
		return ended
	}
	return errors.Join(err, ended)
}

// transferEach is a send or a receive of every part of a buffer: part p is to, or
// from, rank p.
func (c *Comm) transferEach(f dl.Func, buffer cudart.DevicePtr, count int64, t DataType, stream uintptr) error {
	part := cudart.DevicePtr(count * int64(t.Size()))
	for peer := range c.world {
		if err := c.transfer(f, buffer+cudart.DevicePtr(peer)*part, count, t, peer, stream); err != nil {
			return err
		}
	}
	return nil
}

// transfer is a send or a receive.
func (c *Comm) transfer(f dl.Func, buffer cudart.DevicePtr, count int64, t DataType, peer int, stream uintptr) error {
	return c.enqueue(f, uintptr(buffer), uintptr(count), uintptr(t), uintptr(peer), c.handle.Load(), stream)
}

// enqueue calls f with arguments that lie in the communicator: a list that the
// compiler makes for each call would be garbage, as dl.Func lets it escape.
func (c *Comm) enqueue(f dl.Func, args ...uintptr) error {
	n := copy(c.args[:], args)
	return c.lib.check(f, f.Call(c.args[:n]...))
}
