package allgather

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// CopyEngine pulls every peer's part by memory copies between two barriers,
// which leaves the multiprocessors to others. It begins with the next rank's, so
// that not all copy from the same one. The barriers order the copies like any
// work of the stream. In place the own part is not copied.
func CopyEngine() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "copy_engine",
		Summary:    "barriers, memory copies from all peers; takes no multiprocessors",
		Kernels:    barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     1,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
			return err
		}
		for k := range c.World() {
			peer := (c.Rank() + k + 1) % c.World()
			to := c.Local(call.Recv + int64(peer)*call.Bytes())
			from := c.Peer(peer, call.Send+int64(peer-c.Rank())*call.SendStep)
			if to == from {
				continue
			}
			if err := s.Copy(to, from, call.Bytes()); err != nil {
				return err
			}
		}
		return barrier.Meet(c, s, collective.EndBarrier)
	}
	return a
}
