package alltoall

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/copyengine"
)

// CopyEngine pulls this rank's part from every peer by memory copies between two
// barriers. Copy engines would take long for the own part, beside or behind the others:
// a few multiprocessors copy it meanwhile.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "barriers, memory copies from all peers, the own part by a kernel",
		Kernels:    copyengine.OwnKernels(),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, SeparateOutput: true},
		Blocks:     32,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		own := int64(c.Rank()) * call.Bytes()
		err := c.Beside(s,
			func(side cudart.Stream) error {
				return copyengine.CopyOwn(a, c, side, call, call.Send+own, call.Recv+own)
			},
			func() error { return pull(c, s, call) })
		if err != nil {
			return err
		}
		return barrier.Meet(c, s, collective.EndBarrier)
	}
	return a
}

// pull waits until the peers' inputs are there, and copies from them.
func pull(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
		return err
	}
	return copyengine.Pull(c, s, call.Bytes(), func(peer int) (to, from cudart.DevicePtr) {
		return c.Local(call.Recv + int64(peer)*call.Bytes()), c.Peer(peer, call.Send+int64(c.Rank())*call.Bytes())
	})
}
