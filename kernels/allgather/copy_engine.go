package allgather

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine pulls every peer's part by memory copies between two barriers. The own part,
// which in place is there already, a few multiprocessors copy meanwhile: a copy engine would
// take long for it.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "barriers, memory copies from all peers, the own part by a kernel",
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
		own := call.Recv + int64(c.Rank())*call.Bytes()
		if call.Send == own {
			return pulls()
		}
		return c.Beside(s,
			func(side cudart.Stream) error { return copyengine.CopyOwn(a, c, side, call, call.Send, own) },
			pulls)
	}
	return a
}

// pull waits until the peers' parts are there, copies them, and waits until all have.
func pull(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
		return err
	}
	err := copyengine.Pull(c, s, call.Bytes(), func(peer int) (to, from cudart.DevicePtr) {
		return c.Local(call.Recv + int64(peer)*call.Bytes()), c.Peer(peer, call.Send+int64(peer-c.Rank())*call.SendStep)
	})
	if err != nil {
		return err
	}
	return barrier.Meet(c, s, collective.EndBarrier)
}
