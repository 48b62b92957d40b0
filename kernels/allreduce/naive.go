package allreduce

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Naive copies every rank's input to local memory and reduces: naive.cu. It is
// the measure of the others.
func Naive() *collective.Algorithm { return naiveInChunks(8 << 20) }

// naiveInChunks takes so many bytes of each rank's input at a time, a multiple
// of 16, which bounds the scratch.
func naiveInChunks(chunk int64) *collective.Algorithm {
	chunkBytes := func(bytes int64) int64 { return min(ceilDiv(bytes, vecBytes)*vecBytes, chunk) }
	a := &collective.Algorithm{
		Collective: "allreduce",
		Name:       "naive",
		Summary:    "copy every input to local memory, then reduce",
		DTypes:     collective.DTypes(),
		Ops:        collective.Ops(),
		MinSM:      80,
		MaxRanks:   collective.MaxRanks,
		Source:     "allreduce/naive.cu",
		Entries:    append([]string{"naive_meet"}, naiveEntries()...),
		ScratchBytes: func(world int, bytes int64) int64 {
			return int64(world) * chunkBytes(bytes)
		},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		n := naive{a: a, c: c, s: s}
		return n.run(call, chunkBytes(call.Bytes()))
	}
	return a
}

func naiveEntry(op collective.Op) string { return "naive_" + string(op) }

func naiveEntries() []string {
	var names []string
	for _, op := range collective.Ops() {
		names = append(names, naiveEntry(op))
	}
	return names
}

type naive struct {
	a *collective.Algorithm
	c *collective.Comm
	s cudart.Stream
}

// run makes the call in chunks of so many bytes.
func (n naive) run(call collective.Call, chunkBytes int64) error {
	if err := n.meet(call, collective.StartBarrier); err != nil {
		return err
	}
	chunk := call
	perChunk := chunkBytes / int64(call.DType.Size)
	for first := int64(0); first < call.Count; first += perChunk {
		at := first * int64(call.DType.Size)
		chunk.Send, chunk.Recv = call.Send+at, call.Recv+at
		chunk.Count = min(perChunk, call.Count-first)
		if err := n.runChunk(chunk, chunkBytes); err != nil {
			return err
		}
	}
	return nil
}

// runChunk copies a chunk of every rank's input, distance bytes apart, and
// reduces the copies.
func (n naive) runChunk(chunk collective.Call, distance int64) error {
	for r := range n.c.World() {
		to := n.c.Local(n.c.Scratch() + int64(r)*distance)
		if err := n.s.Copy(to, n.c.Peer(r, chunk.Send), chunk.Bytes()); err != nil {
			return err
		}
	}
	if err := n.meet(chunk, collective.EndBarrier); err != nil {
		return err
	}
	k, err := n.c.Kernel(n.a, chunk.DType, naiveEntry(chunk.Op))
	if err != nil {
		return err
	}
	p := n.c.Params(chunk)
	p.TileBytes = distance
	return n.s.Launch(k, n.c.Grid(chunk.Count, collective.MaxBlocks), p.Bytes())
}

func (n naive) meet(call collective.Call, phase collective.Phase) error {
	k, err := n.c.Kernel(n.a, call.DType, "naive_meet")
	if err != nil {
		return err
	}
	p := n.c.Params(call)
	p.Phase = phase
	return n.s.Launch(k, n.c.Grid(1, 1), p.Bytes())
}
