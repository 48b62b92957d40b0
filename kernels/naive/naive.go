// Package naive is one algorithm for every collective that moves data. It is the baseline of
// the other algorithms, and runs without peer access.
//
// Every rank stages a chunk of its input in shared scratch. After a barrier, each rank
// copies the parts that it needs from all ranks' scratch to local memory, and reduces the
// copies if the collective reduces. Only the scratch is shared. Only copies and the barrier
// access memory that is not local, so the scratch may be in host memory.
package naive

import (
	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// Algorithm makes the naive algorithm of a collective with that shape.
func Algorithm(of string, shape collective.Shape) *collective.Algorithm {
	return InChunks(of, shape, 8<<20)
}

func summary(shape collective.Shape) string {
	if shape.Reduces {
		return "stages inputs, copies them from all ranks, reduces; works without peer access"
	}
	return "stages inputs, copies them from the ranks; works without peer access"
}

// InChunks is Algorithm with chunks of so many bytes of a part, a multiple of 16. The chunk bounds
// the scratch: it holds a chunk of each staged part and, if the collective reduces, of each copy.
func InChunks(of string, shape collective.Shape, chunk int64) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: of,
		Name:       "naive",
		Summary:    summary(shape),
		Kernels:    kernels(shape),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Blocks:     collective.MaxBlocks,
		ScratchBytes: func(world int, bytes int64) int64 {
			return newScratch(shape, world, bytes, chunk).total()
		},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		n := run{a: a, shape: shape, c: c, s: s, call: call, scratch: newScratch(shape, c.World(), call.Bytes(), chunk)}
		for at := int64(0); at < call.Bytes(); at += n.scratch.chunk {
			if err := n.chunk(at, min(n.scratch.chunk, call.Bytes()-at)); err != nil {
				return err
			}
		}
		if call.Count == 0 {
			return nil
		}
		// The next call may overwrite the scratch only after all ranks have fetched.
		return barrier.Meet(c, s, collective.EndBarrier)
	}
	return a
}

// kernels lists the kernels that reduce local copies: one module for all collectives. A
// collective that does not reduce needs only copies, for any type.
func kernels(shape collective.Shape) []collective.Kernel {
	if shape.Reduces {
		return collective.Naive()
	}
	return barrier.FlagKernels()
}

// scratch is the layout of a rank's scratch: the parts of a chunk that the rank stages for its
// peers, then its copies of the peers' parts.
type scratch struct {
	chunk          int64 // bytes of a part at a time
	staged, copies int64 // parts
}

func newScratch(shape collective.Shape, world int, bytes, chunk int64) scratch {
	const vecBytes = 16
	s := scratch{chunk: min((bytes+vecBytes-1)/vecBytes*vecBytes, chunk), staged: shape.Send.Of(world)}
	if shape.Reduces {
		s.copies = int64(world)
	}
	return s
}

func (s scratch) total() int64 { return (s.staged + s.copies) * s.chunk }

// run is one call.
type run struct {
	a       *collective.Algorithm
	shape   collective.Shape
	c       *collective.Comm
	s       cudart.Stream
	call    collective.Call
	scratch scratch
}

// chunk does so many bytes of every part, from at on.
func (r run) chunk(at, bytes int64) error {
	// All peers have fetched the previous chunk, or the last chunk of the previous call.
	if err := barrier.Meet(r.c, r.s, collective.StartBarrier); err != nil {
		return err
	}
	if err := r.stage(at, bytes); err != nil {
		return err
	}
	if err := barrier.Meet(r.c, r.s, collective.StageBarrier); err != nil {
		return err
	}
	if err := r.fetch(at, bytes); err != nil {
		return err
	}
	if !r.shape.Reduces || !r.receives() {
		return nil
	}
	return r.reduce(at, bytes)
}

// stage copies this rank's parts to the scratch, one behind the other.
func (r run) stage(at, bytes int64) error {
	if !r.shape.Sends(r.c.Rank(), r.call.Root) {
		return nil
	}
	for part := range r.scratch.staged {
		to := r.c.Local(r.c.Scratch() + part*r.scratch.chunk)
		from := r.c.Local(r.call.Send + part*r.call.Bytes() + at)
		if err := r.s.Copy(to, from, bytes); err != nil {
			return err
		}
	}
	return nil
}

// fetch copies this rank's part from every rank that has one: to the local
// copies, or straight to the output.
func (r run) fetch(at, bytes int64) error {
	if !r.receives() {
		return nil
	}
	for rank := range r.c.World() {
		if !r.shape.Sends(rank, r.call.Root) {
			continue
		}
		from := r.c.Scratch()
		if r.shape.Send == collective.PartPerRank {
			from += int64(r.c.Rank()) * r.scratch.chunk
		}
		to := r.c.Scratch() + (r.scratch.staged+int64(rank))*r.scratch.chunk
		if !r.shape.Reduces {
			to = r.call.Recv + at
			if r.shape.Recv == collective.PartPerRank {
				to += int64(rank) * r.call.Bytes()
			}
		}
		if err := r.s.Copy(r.c.Local(to), r.c.Peer(rank, from), bytes); err != nil {
			return err
		}
	}
	return nil
}

// receives reports whether this rank has an output.
func (r run) receives() bool { return r.shape.Receives(r.c.Rank(), r.call.Root) }

// reduce reduces the local copies.
func (r run) reduce(at, bytes int64) error {
	p := r.c.Params(r.call)
	p.PartBytes = bytes
	p.RecvOffset += at
	p.ScratchOffset += r.scratch.staged * r.scratch.chunk
	p.TileBytes = r.scratch.chunk
	return r.c.Launch(r.s, r.a, r.call, r.c.Grid(r.a, r.call, bytes/int64(r.call.DType.Size)), &p)
}
