package nccl

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// collSymmetric is NCCL_WIN_COLL_SYMMETRIC: what lies in the window lies at the same
// offset on all ranks.
const collSymmetric = 1

// ErrNoWindow says that NCCL registered memory and made no window of it, which is no
// failure to NCCL.
var ErrNoWindow = errors.New("NCCL made no window of the memory: it has no symmetric memory here; " +
	"NCCL_DEBUG=INFO says more")

// Window is memory that is registered with a communicator, an ncclWindow_t. The zero
// Window is none.
type Window struct{ handle uintptr }

// SupportsWindows returns an error if this version of NCCL has no windows of symmetric
// memory. The error names the version that is needed.
func (l *Library) SupportsWindows() error {
	since := Version{Major: 2, Minor: 27}
	if l.version.Before(since) || !l.fns.windowRegister.Found() || !l.fns.windowDeregister.Found() {
		p := product()
		return fmt.Errorf("windows of symmetric memory need NCCL %s, and %s is %s; "+
			"install a newer one with pip install -U %s, or give %s FILE", since, l.path, l.version, p.Pip, p.Flag)
	}
	return nil
}

// RegisterSymmetric makes a window of memory. Collectives whose buffers lie in windows on
// all ranks, at the same offsets, may take NCCL's symmetric kernels. All ranks register
// windows of the same size in the same order, and the call waits for all of them.
//
// The memory is one allocation of virtual memory management that can be exported, as
// cuMemCreate and ncclMemAlloc make it. NCCL maps all of the allocation on all ranks, with
// its own reference. The caller deregisters the window before the communicator is closed.
func (c *Comm) RegisterSymmetric(at cudart.DevicePtr, bytes int64) (Window, error) {
	if err := c.lib.SupportsWindows(); err != nil {
		return Window{}, err
	}
	var w Window
	f := c.lib.fns.windowRegister
	err := c.lib.check(f, f.Call(c.handle.Load(), uintptr(at), uintptr(bytes), uintptr(unsafe.Pointer(&w.handle)),
		collSymmetric))
	if err == nil && w.handle == 0 {
		err = ErrNoWindow
	}
	if err != nil {
		return Window{}, fmt.Errorf("registering %d bytes: %w", bytes, err)
	}
	return w, nil
}

// Deregister ends a window. No work that uses it may be under way on any rank.
func (c *Comm) Deregister(w Window) error {
	if w.handle == 0 {
		return nil
	}
	return c.enqueue(c.lib.fns.windowDeregister, c.handle.Load(), w.handle)
}
