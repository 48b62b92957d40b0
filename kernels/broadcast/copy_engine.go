package broadcast

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// CopyEngine has every rank pull the root's input by a memory copy between two
// barriers, which leaves the multiprocessors to others. The root's link carries the
// data once for each peer. In place the root copies nothing.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "barriers, memory copies from the root; takes no multiprocessors",
		Kernels:    barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     1,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
			return err
		}
		to, from := c.Local(call.Recv), c.Peer(call.Root, call.Send)
		if to != from {
			if err := s.Copy(to, from, call.Bytes()); err != nil {
				return err
			}
		}
		return barrier.Meet(c, s, collective.EndBarrier)
	}
	return a
}
