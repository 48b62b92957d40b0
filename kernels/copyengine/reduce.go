package copyengine

import (
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// Share is the range of the inputs that a rank reduces, in bytes from their beginning, and the
// destination of the result.
type Share struct {
	Begin, Bytes int64
	// To is the rank that gets the result, or the number of ranks if all ranks get it.
	To int
	// Recv is the place of the result there, in bytes from the base of symmetric memory.
	Recv   int64
	Pieces Pieces
}

// Pieces selects how a share is cut into pieces. A few large pieces are fastest: a copy engine
// is idle for about 7 us between copies.
type Pieces int

const (
	// Pushed is for results that are stored to peers. Between two ranks, the first piece is
	// pushed while the second is pulled, which keeps the link busy in both directions. Among more
	// ranks this overlap is slower than copies first and stores afterwards.
	Pushed Pieces = iota
	// Kept is for results that stay on this rank. The last piece is small, because its reduction
	// overlaps with no copy.
	Kept
)

// ends returns where each piece ends, in sixteenths of a share. The values were fastest on H200s.
func (p Pieces) ends(world int) []int64 {
	switch {
	case p == Kept:
		return []int64{8, 12, 15, 16}
	case world > 2:
		return []int64{16}
	}
	return []int64{12, 16}
}

// Part is the rank's part of so many bytes, split evenly in whole vectors. The last rank also gets
// the remainder, so its part is the largest.
func Part(rank, world int, bytes int64) (begin, size int64) {
	vecs := bytes / vecBytes
	begin = vecs * int64(rank) / int64(world) * vecBytes
	if rank == world-1 {
		return begin, bytes - begin
	}
	return begin, vecs*int64(rank+1)/int64(world)*vecBytes - begin
}

// LargestPart is the size of the last of so many parts, which is the largest.
func LargestPart(parts int, bytes int64) int64 {
	_, size := Part(parts-1, parts, bytes)
	return size
}

// Reduce describes the algorithm of a collective that reduces, with grids of so many blocks:
// each rank has copy engines pull its share of a call from the peers, piece by piece,
// and kernels reduce a piece while the next one is copied. The function largest returns the
// largest share of a part of so many bytes, which bounds the scratch.
//
// Links carry more when copy engines fill them than when multiprocessors load and store at once
// (kernels/NOTES.md).
func Reduce(of, summary string, blocks int, largest func(world int, bytes int64) int64,
	share func(rank, world int, call collective.Call) Share,
) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    collective.Reductions("copyengine", "reduce", "copyengine_reduce", collective.SM80),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Overlap: true},
		Blocks:     blocks,
		ScratchBytes: func(world int, bytes int64) int64 {
			return int64(world-1) * wholeVecs(largest(world, bytes))
		},
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
		if err := newPulling(a, c, call, share(c.Rank(), c.World(), call)).enqueue(s); err != nil {
			return err
		}
		return barrier.Meet(c, s, collective.EndBarrier)
	}
	return a
}

// pulling is one call of Reduce on one rank.
type pulling struct {
	a     *collective.Algorithm
	c     *collective.Comm
	call  collective.Call
	share Share
	edges []int64 // piece i is the share's bytes [edges[i], edges[i+1]), never empty
}

func newPulling(a *collective.Algorithm, c *collective.Comm, call collective.Call, share Share) *pulling {
	return &pulling{a, c, call, share, share.edges(c.World())}
}

// edges are where pieces begin, and where the last one ends.
func (s Share) edges(world int) []int64 {
	edges := []int64{0}
	for _, sixteenths := range s.Pieces.ends(world) {
		edges = append(edges, min(wholeVecs(s.Bytes*sixteenths/16), s.Bytes))
	}
	return slices.Compact(edges)
}

func (r *pulling) pieces() int { return len(r.edges) - 1 }

// enqueue enqueues the pieces: copies on the side stream, kernels on s. A rank without a share has no pieces.
func (r *pulling) enqueue(s cudart.Stream) error {
	if r.pieces() == 0 {
		return nil
	}
	copies := r.c.SideStream()
	if err := r.c.WaitFor(copies, s); err != nil {
		return err
	}
	for i := range r.pieces() {
		if err := r.pull(copies, i); err != nil {
			return err
		}
		if err := r.c.WaitFor(s, copies); err != nil {
			return err
		}
		if err := r.reduce(s, i); err != nil {
			return err
		}
	}
	return nil
}

// pull copies piece i from all peers.
func (r *pulling) pull(s cudart.Stream, i int) error {
	begin, end := r.edges[i], r.edges[i+1]
	return eachPeer(r.c, func(peer int) error {
		slot := peer
		if peer > r.c.Rank() {
			slot--
		}
		to := r.c.Scratch() + int64(slot)*wholeVecs(r.share.Bytes) + begin
		return s.Copy(r.c.Local(to), r.c.Peer(peer, r.call.Send+r.share.Begin+begin), end-begin)
	})
}

// reduce launches the kernel for piece i.
func (r *pulling) reduce(s cudart.Stream, i int) error {
	begin, end := r.edges[i], r.edges[i+1]
	p := r.c.Params(r.call)
	p.PartBytes = end - begin
	p.SendOffset += r.share.Begin + begin
	p.SendStep = wholeVecs(r.share.Bytes)
	p.ScratchOffset += begin
	p.RecvOffset = r.share.Recv + begin
	p.Root = uint32(r.share.To)
	return r.c.Launch(s, r.a, r.call, r.c.Grid(r.a, r.call, (end-begin+vecBytes-1)/vecBytes), &p)
}

const vecBytes = 16

func wholeVecs(bytes int64) int64 { return (bytes + vecBytes - 1) / vecBytes * vecBytes }
