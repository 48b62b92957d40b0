package conformance

import (
	"bytes"
	"fmt"
	"testing"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

const (
	ki = 1 << 10
	mi = 1 << 20
)

// modularCounts are the numbers of elements of Modular's tests of allreduce: none, less than a vector, around vectors
// and tiles, and large.
var modularCounts = []int64{
	0, 7, 8 * ki, 8*ki + 1, 8*ki + 7, 8*ki + 8, 8*ki + 24, 128 * ki, 256 * ki, 256*ki + 5, 16 * mi, 16*mi + 8, 64 * mi,
}

// Modular's cases of allreduce: up to 8 Ki elements and 24 in the simulator as well, 128 Ki and more only on GPUs.
func TestModularGrid(t *testing.T) {
	parallelInSimulator(t)
	const most = 64 << 10
	for _, world := range sample([]int{2, 4, 8}, 1) {
		pool := newRankPool(t, modularGroup(t, world))
		for _, count := range sample(modularCounts, 0, 1, 3, 6) {
			t.Run(fmt.Sprintf("%d_ranks/%d", world, count), func(t *testing.T) {
				skipLarge(t, count*int64(collective.Float.Size), most)
				for _, c := range modularCalls(t, world) {
					c.count = count
					t.Run(modularName(c), func(t *testing.T) { pool.run(t, runCall(c)) })
				}
			})
		}
	}
}

// modularGroup has memory for the largest case.
func modularGroup(t *testing.T, world int) group {
	t.Helper()
	g := gridGroup(t, world)
	if onGPU(t) {
		g.bytes = 64*mi*int64(collective.Float.Size) + 2*guardBytes
	}
	return g
}

// modularCalls is a sum by every algorithm, of each of Modular's types, and the negated sum if the algorithm has the
// epilogue.
func modularCalls(t *testing.T, world int) []testCall {
	t.Helper()
	var all []testCall
	for _, c := range gridCalls(t, world, "allreduce") {
		for _, c.in.DType = range []collective.DType{collective.BFloat16, collective.Float} {
			for _, e := range []collective.EpilogueKind{collective.NoEpilogue, collective.Negate} {
				if c.algorithm.Supports(c.in.DType, c.in.Op, e) {
					all = append(all, c.withEpilogue(e, 0))
				}
			}
		}
	}
	return all
}

// 128 calls without a wait between them, of alternating sizes, on one buffer. An element of the output is the same for
// every size.
func TestModularGridWithoutWaiting(t *testing.T) {
	parallelInSimulator(t)
	const longest = 2*ki + 24
	times := 128
	if !onGPU(t) && !exhaustive() {
		times = 40 // the counts in turn, several times
	}
	counts := []int64{longest, 7, 512, 8, 1*ki + 5}
	for _, world := range inTurn([]int{2, 4, 8}, 1) {
		pool := newRankPool(t, gridGroup(t, world))
		for _, c := range modularCalls(t, world) {
			c.count = longest
			t.Run(fmt.Sprintf("%d_ranks/%s", world, modularName(c)), func(t *testing.T) {
				pool.run(t, func(m *member) error { return alternate(m, c, counts, times) })
			})
		}
	}
}

func modularName(c testCall) string {
	epilogue := "none"
	if c.epilogue.Kind != collective.NoEpilogue {
		epilogue = string(c.epilogue.Kind)
	}
	return fmt.Sprintf("%s/%s/epilogue=%s", c.algorithm.Name, c.in.DType.Name, epilogue)
}

// alternate makes `times` calls of the counts in turn, of which c has the largest, and verifies the output.
func alternate(m *member, c testCall, counts []int64, times int) error {
	if err := c.fill(m); err != nil {
		return err
	}
	for i := range times {
		next := c
		next.count = counts[i%len(counts)]
		if err := next.enqueue(m); err != nil {
			return err
		}
	}
	if err := m.synchronize(); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	_, err := c.check(m)
	return err
}

// 20 repetitions give the same bits on all ranks, also where results are rounded. In the simulator only the shard's
// calls are repeated so often, the others 3 times.
func TestModularGridRepeated(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range sample([]int{2, 4, 8}, 1) {
		pool := newRankPool(t, gridGroup(t, world))
		for number, c := range modularCalls(t, world) {
			c.count, c.in.Seed, c.in.Pattern = 1*ki+7, 20, reference.Random
			repetitions := 20
			if !onGPU(t) && !inShard(number) {
				repetitions = 3
			}
			t.Run(fmt.Sprintf("%d_ranks/%s", world, modularName(c)), func(t *testing.T) {
				first := make(results, world)
				pool.run(t, first.of(c))
				for i := range repetitions - 1 {
					got := make(results, world)
					pool.run(t, got.of(c))
					for rank := range world {
						if !bytes.Equal(got[rank], first[0]) {
							t.Fatalf("repetition %d on rank %d gives other bits than the first on rank 0", i+1, rank)
						}
					}
				}
			})
		}
	}
}
