package broadcast

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine has every other rank pull the root's input by a memory copy between two
// barriers. The root's link carries the data once for each peer. The root's own output, if it
// is not the input, a few multiprocessors write meanwhile: its copy engine
// would be done early, and take the memory from the peers as long.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "barriers, memory copies from the root, whose own is made by a kernel",
		Kernels:    copyengine.OwnKernels(),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     16, // whose loads and stores leave the peers theirs
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		pulls := func() error { return pull(c, s, call) }
		if c.Rank() != call.Root || call.Send == call.Recv {
			return pulls()
		}
		return c.Beside(s,
			func(side cudart.Stream) error {
				return copyengine.CopyOwn(a, c, side, call, call.Send, call.Recv)
			}, pulls)
	}
	return a
}

// pull waits until the root's input is there, copies it to a rank that is not the root, and
// waits until all have.
func pull(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
		return err
	}
	if c.Rank() != call.Root {
		if err := s.Copy(c.Local(call.Recv), c.Peer(call.Root, call.Send), call.Bytes()); err != nil {
			return err
		}
	}
	return barrier.Meet(c, s, collective.EndBarrier)
}
