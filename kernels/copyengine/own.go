// Package copyengine is what the algorithms that move data by memory copies share: the
// kernels for what copies cannot do, or not as well, and the order in which both are enqueued.
package copyengine

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// OwnKernels lists the kernel of CopyOwn: own.cu.
func OwnKernels() []collective.Kernel {
	return collective.Copies("copyengine", "own", collective.SM80)
}

// CopyOwn has the kernel of an algorithm, one of OwnKernels, copy the call's part from one
// place of this rank's symmetric memory to another, both in bytes from its base.
func CopyOwn(a *collective.Algorithm, c *collective.Comm, s cudart.Stream, call collective.Call, from, to int64) error {
	p := c.Params(call)
	p.SendOffset, p.RecvOffset = from, to
	return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()), &p)
}
