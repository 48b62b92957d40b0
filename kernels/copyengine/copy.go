// Package copyengine makes the algorithms copy_engine, which move data between GPUs by
// memory copies, for all collectives: the kernels for what copies cannot do, or not as
// well, and the order in which both are enqueued.
package copyengine

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

const name = "copy_engine"

// Places says from where to where a rank copies in a call. All are in bytes from the base
// of symmetric memory.
type Places struct {
	// Own is for what stays on this GPU. Both places are the same where nothing does.
	Own func(rank int, call collective.Call) (to, from int64)
	// Peer is for what comes from a peer, whose place from is; false is nothing.
	Peer func(rank, peer int, call collective.Call) (to, from int64, ok bool)
}

// Copy describes the algorithm of a collective that does not reduce, with grids of so many
// blocks. Between two barriers every rank pulls parts from its peers by memory copies. A kernel copies the own part
// meanwhile on a few multiprocessors, because a copy engine takes long for a copy within a GPU's memory.
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

// pullBetweenBarriers waits until the peers' parts are there, copies them, and waits until
// all ranks have.
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

// eachPeer calls do for every peer, beginning with the next rank, so that not all ranks
// copy from the same one.
func eachPeer(c *collective.Comm, do func(peer int) error) error {
	for k := 1; k < c.World(); k++ {
		if err := do((c.Rank() + k) % c.World()); err != nil {
			return err
		}
	}
	return nil
}
