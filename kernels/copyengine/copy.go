// Package copyengine makes the algorithms copy_engine of all collectives. They move data between
// GPUs by memory copies on the copy engines. Kernels reduce, and copy within a GPU's memory.
package copyengine

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

const name = "copy_engine"

// Places holds the source and the destination of each copy that a rank makes in a call, in bytes
// from the base of symmetric memory.
type Places struct {
	// Own is for the copy within this GPU. Source and destination are equal if there is none.
	Own func(rank int, call collective.Call) (to, from int64)
	// Peer is for the copy from a peer; from is a place in the peer's memory. false: no copy.
	Peer func(rank, peer int, call collective.Call) (to, from int64, ok bool)
}

// Copy describes the algorithm of a collective that does not reduce, with grids of so many
// blocks. Between two barriers every rank pulls parts from its peers by memory copies. Meanwhile a
// kernel on a few multiprocessors copies the own part: copy engines are slow within a GPU's memory.
func Copy(of, summary string, blocks int, places Places) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    collective.Copies("copyengine", "own", collective.SM80),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     blocks,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		pulls := func() error { return pullBetweenBarriers(c, s, call, places) }
		to, from := places.Own(c.Rank(), call)
		if to == from {
			return pulls()
		}
		return c.RunConcurrently(s, func(side cudart.Stream) error { return copyOwn(a, c, side, call, to, from) }, pulls)
	}
	return a
}

// copyOwn copies a part within this rank's memory, by own.cu.
func copyOwn(a *collective.Algorithm, c *collective.Comm, s cudart.Stream, call collective.Call, to, from int64) error {
	p := c.Params(call)
	p.SendOffset, p.RecvOffset = from, to
	return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()), &p)
}

// pullBetweenBarriers enqueues a barrier, the copies from the peers, and a second barrier. After
// it, all ranks have finished their copies.
func pullBetweenBarriers(c *collective.Comm, s cudart.Stream, call collective.Call, places Places) error {
	if err := barrier.Meet(c, s, collective.StartBarrier); err != nil {
		return err
	}
	err := eachPeer(c, func(peer int) error {
		to, from, ok := places.Peer(c.Rank(), peer, call)
		if !ok {
			return nil
		}
		return s.Copy(c.Local(to), c.Peer(peer, from), call.Bytes())
	})
	if err != nil {
		return err
	}
	return barrier.Meet(c, s, collective.EndBarrier)
}

// eachPeer calls do for every peer, beginning with the next rank, so that the ranks do not all
// copy from the same peer at once.
func eachPeer(c *collective.Comm, do func(peer int) error) error {
	for k := 1; k < c.World(); k++ {
		if err := do((c.Rank() + k) % c.World()); err != nil {
			return err
		}
	}
	return nil
}
