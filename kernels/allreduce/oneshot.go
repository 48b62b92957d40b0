package allreduce

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// OneShot stages the input and pulls everybody's: oneshot.cu.
func OneShot() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: "allreduce",
		Name:       "oneshot",
		Summary:    "one barrier, pull all inputs; small sizes",
		DTypes:     collective.DTypes(),
		Ops:        collective.Ops(),
		MinSM:      80,
		MaxRanks:   collective.MaxRanks,
		Source:     "allreduce/oneshot.cu",
		Entries:    entries("oneshot"),
		ScratchBytes: func(int, int64) int64 {
			return 2 * collective.SlotBytes * collective.MaxBlocks
		},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		k, err := c.Kernel(a, call.DType, entry("oneshot", call.Op, c.World()))
		if err != nil {
			return err
		}
		shape := c.Grid(ceilDiv(call.Bytes(), vecBytes), oneShotBlocks)
		p := c.Params(call)
		p.TileBytes = tileBytes(call.Bytes(), shape.Blocks)
		return s.Launch(k, shape, p.Bytes())
	}
	return a
}

// oneShotBlocks is enough to saturate the links at the sizes where one-shot is
// of use; more blocks mean more flags.
const oneShotBlocks = 64

// tileBytes splits bytes evenly over the blocks, in whole vectors, as far as a
// slot holds it.
func tileBytes(bytes int64, blocks int) int64 {
	even := ceilDiv(ceilDiv(bytes, int64(blocks)), vecBytes) * vecBytes
	return min(even, collective.SlotBytes)
}
