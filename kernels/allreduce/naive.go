package allreduce

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Naive copies every rank's input to local memory and adds: naive.cu. It is
// the measure of the others.
func Naive() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: "allreduce",
		Name:       "naive",
		Summary:    "copy every input to local memory, then add",
		DTypes:     elements,
		Ops:        sums,
		MinSM:      80,
		MaxRanks:   collective.MaxRanks,
		Source:     "allreduce/naive.cu",
		Entries:    []string{"naive_meet", "naive_add"},
		ScratchBytes: func(world int, bytes int64) int64 {
			return int64(world) * chunkBytes(bytes)
		},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		n := naive{a: a, c: c, s: s}
		return n.run(call)
	}
	return a
}

// naiveChunk bounds the scratch for the copy of one rank's input, in bytes.
const naiveChunk = 8 << 20

func chunkBytes(bytes int64) int64 {
	return min(ceilDiv(bytes, vecBytes)*vecBytes, naiveChunk)
}

type naive struct {
	a *collective.Algorithm
	c *collective.Comm
	s cudart.Stream
}

func (n naive) run(call collective.Call) error {
	if err := n.meet(call, collective.StartBarrier); err != nil {
		return err
	}
	chunk := call
	perChunk := chunkBytes(call.Bytes()) / int64(call.DType.Size)
	for first := int64(0); first < call.Count; first += perChunk {
		at := first * int64(call.DType.Size)
		chunk.Send, chunk.Recv = call.Send+at, call.Recv+at
		chunk.Count = min(perChunk, call.Count-first)
		if err := n.runChunk(chunk, chunkBytes(call.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// runChunk copies a chunk of every rank's input, distance bytes apart, and
// adds the copies.
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
	k, err := n.c.Kernel(n.a, chunk.DType, "naive_add")
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
