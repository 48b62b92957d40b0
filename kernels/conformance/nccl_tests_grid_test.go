package conformance

import (
	"fmt"
	"iter"
	"testing"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// The sizes are powers of two from 8 bytes on: up to ncclTestsMost on GPUs, and
// up to ncclTestsSimulated in the simulator.
const (
	ncclTestsLeast     = 8
	ncclTestsSimulated = 32 << 10
	ncclTestsMost      = 64 << 20
)

// nccl-tests' cases: every collective, algorithm, type and operation, on sizes that double, in place and out of place,
// aligned and not, with inputs whose results are exact.
//
// There are more cases than time. In the order of the list, every 1511th case runs, in an exhaustive run every 127th of
// the shard as well, and on GPUs every 379th. Of the cases that only GPUs run it is every 1009th. These numbers are
// primes, and coprime to the number of values of each property, so that every type is combined with every size, and so
// on.
func TestNCCLTestsGrid(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range []int{2, 4, 8} {
		g := gridGroup(t, world)
		if onGPU(t) {
			g.bytes = ncclTestsMost + 4*guardBytes
		}
		pool, small, large := newRankPool(t, g), 0, 0
		for c := range ncclTestsCalls(gridCalls(t, world, "")) {
			chosen := false
			if c.largerBytes() > ncclTestsSimulated {
				large++
				chosen = large%1009 == 0
			} else {
				small++
				chosen = small%1511 == 0 || small%127 == 0 && inShard(small/127) || onGPU(t) && small%379 == 0
			}
			if chosen {
				t.Run(ncclTestsName(c), func(t *testing.T) {
					skipLarge(t, c.largerBytes(), ncclTestsSimulated)
					pool.run(t, runCall(c))
				})
			}
		}
	}
}

// ncclTestsCalls goes through all cases of some calls. A list of the cases would take gigabytes.
func ncclTestsCalls(calls []testCall) iter.Seq[testCall] {
	return func(yield func(testCall) bool) {
		for _, c := range calls {
			for _, c.in.DType = range c.algorithm.DTypes() {
				for _, c.in.Op = range c.algorithm.Ops() {
					if !c.algorithm.Supports(c.in.DType, c.in.Op, collective.NoEpilogue) {
						continue // the catalog's tests say which there are
					}
					c.in.Accumulator, c.in.Pattern = accumulator(c.algorithm, c.in.DType), reference.Exact
					if !ncclTestsSizes(c, yield) {
						return
					}
				}
			}
		}
	}
}

// ncclTestsSizes yields a call with all sizes, alignments, and in place and out of place, until yield returns false. A
// size is that of the larger buffer, rounded down to what the ranks can share evenly.
func ncclTestsSizes(c testCall, yield func(testCall) bool) bool {
	shape := c.collective.Shape
	parts := max(shape.Send.Of(c.in.World), shape.Recv.Of(c.in.World))
	for size := int64(ncclTestsLeast); size <= ncclTestsMost; size *= 2 {
		c.count = size / parts / int64(c.in.DType.Size)
		for _, c.inPlace = range []bool{false, true} {
			for _, unaligned := range []bool{false, true} {
				c.offset, c.shift, c.in.Seed = 0, 0, uint64(size)
				if unaligned {
					c.offset, c.shift = int64(c.in.DType.Size), int64(c.in.DType.Size)
				}
				if (!c.inPlace || c.canRunInPlace()) && !yield(c) {
					return false
				}
			}
		}
	}
	return true
}

func (c testCall) largerBytes() int64 { return max(c.sendBytes(), c.recvBytes()) }

func ncclTestsName(c testCall) string {
	place, aligned := "out_of_place", "aligned"
	if c.inPlace {
		place = "in_place"
	}
	if c.offset != 0 {
		aligned = "unaligned"
	}
	return fmt.Sprintf("%d_ranks/%s/%s/%s/%s/%d_bytes/%s/%s", c.in.World,
		c.collective.Name, c.algorithm.Name, c.in.DType.Name, c.in.Op, c.largerBytes(), place, aligned)
}
