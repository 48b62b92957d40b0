package allreduce

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// TwoShot sums the own part of all inputs and pushes it to all: twoshot.cu.
func TwoShot() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective:   "allreduce",
		Name:         "twoshot",
		Summary:      "each rank reduces its part and pushes it; large sizes",
		DTypes:       collective.DTypes(),
		Ops:          collective.Ops(),
		MinSM:        80,
		MaxRanks:     collective.MaxRanks,
		Source:       "allreduce/twoshot.cu",
		Entries:      entries("twoshot"),
		ScratchBytes: func(int, int64) int64 { return 0 },
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		k, err := c.Kernel(a, call.DType, entry("twoshot", call.Op, c.World()))
		if err != nil {
			return err
		}
		part := ceilDiv(call.Bytes(), int64(c.World()))
		p := c.Params(call)
		return s.Launch(k, c.Grid(ceilDiv(part, vecBytes), twoShotBlocks), p.Bytes())
	}
	return a
}

// twoShotBlocks leaves multiprocessors to other work; the links are saturated
// with fewer.
const twoShotBlocks = 96
