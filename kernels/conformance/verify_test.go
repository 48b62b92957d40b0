package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// counts are numbers of elements: none, less than a vector, with a tail, and several tiles.
var counts = []int64{0, 1, 7, 8, 1023, 4096 + 5, 40_000 + 3}

// fit is count, or less if the buffers are too small for it.
func (c testCall) fit(count int64) int64 { return min(count, c.capacity(bufferBytes)) }

// capacity is the number of elements of a part that fit into so many bytes, with guards around them, at any alignment.
func (c testCall) capacity(bytes int64) int64 {
	parts := max(c.collective.Shape.Send.Of(c.in.World), c.collective.Shape.Recv.Of(c.in.World))
	return (bytes - 4*guardBytes) / parts / int64(c.in.DType.Size)
}

// mostElements is the largest number of elements of all ranks together: with more, the simulator would take too long.
const mostElements = 4 * (40_000 + 3)

// Every algorithm is right with types of each size and kind, at every size up to mostElements, in place and out of
// place, aligned and not.
func TestEverySizeTypeAndWorld(t *testing.T) {
	t.Parallel()
	for _, world := range sample([]int{1, 2, 3, 4, 5, 8, 16}, 0, 2, 5) {
		t.Run(fmt.Sprintf("%d ranks", world), func(t *testing.T) { group{world: world}.run(t, everyCall) })
	}
}

func everyCall(m *member) error {
	types := []collective.DType{collective.Float, collective.BFloat16, collective.Int8, collective.UInt64}
	for _, c := range calls(m.world, nil) {
		for t, d := range types {
			for i, count := range counts {
				// Of the pairs of a type and a count a quarter runs always among 1, 3 and 8 ranks: all types and all counts.
				pair := i + t + m.world
				often := pair%len(types) == 0 && slices.Contains([]int{1, 3, 8}, m.world)
				if count*int64(m.world) > mostElements || !often && !inShard(pair) {
					continue
				}
				c.in.DType = d
				if c.collective.Shape.Reduces {
					ops := collective.Ops()
					c.in.Op = ops[(i+t)%len(ops)]
				}
				if !c.algorithm.Supports(d, c.in.Op, collective.NoEpilogue) {
					continue // the catalog's tests say which there are
				}
				c.count, c.root = c.fit(count), i%m.world
				c.in.Seed, c.in.Pattern = uint64(i), reference.Pattern(i%2)
				for _, again := range sample([]bool{false, true}, m.world%2) {
					c.inPlace = (i%2 == 1) != again && c.canRunInPlace()
					c.offset, c.shift = int64(i%3*d.Size), 0
					if again {
						c.offset, c.shift = 0, int64(i%2*d.Size)
					}
					if _, err := c.run(m); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// Every algorithm supports every operation on every type that the catalog lists for it, with exact and with random
// inputs. Where not all is wanted, operations have one of these in turn.
func TestEveryOperationOnEveryType(t *testing.T) {
	t.Parallel()
	group{world: 3}.run(t, func(m *member) error { return everyOperation(m, 300) })
}

// The same with the kernels for older GPUs.
func TestEveryOperationOnOlderGPUs(t *testing.T) {
	t.Parallel()
	for _, major := range inTurn([]int{8, 9}, 0) {
		g := group{world: 2, backend: sim.New(1, sim.Options{Major: major})}
		g.run(t, func(m *member) error { return everyOperation(m, 100) })
	}
}

func everyOperation(m *member, count int64) error {
	for _, c := range calls(m.world, nil) {
		for i, d := range c.algorithm.DTypes() {
			for j, op := range c.algorithm.Ops() {
				// the catalog's tests say which there are
				if least := c.algorithm.MinSM(d, op, collective.NoEpilogue); least == 0 || least > m.comm.SM() {
					continue
				}
				for _, p := range sample([]reference.Pattern{reference.Exact, reference.Random}, (i+j)%2) {
					c.in.Seed, c.in.Pattern, c.in.Op, c.in.DType, c.count = 11, p, op, d, count
					c.in.Accumulator = accumulator(c.algorithm, d)
					if _, err := c.run(m); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// accumulator is the type in which the switch adds 8-bit floats; for all else it is the type that the reference
// assumes.
func accumulator(a *collective.Algorithm, d collective.DType) collective.DType {
	if a.Needs.Multicast && d.Kind == collective.FloatingPoint && d.Size == 1 {
		return collective.Half
	}
	return collective.DType{}
}

// All ranks of an allreduce get the same bits, also where results are rounded, and every collective gives the same bits
// in every run.
func TestResultsAreTheSameBitsEveryTime(t *testing.T) {
	parallelInSimulator(t)
	const world, repetitions = 5, 3
	for _, c := range calls(world, nil) {
		c.count = c.fit(5000)
		c.in.Seed, c.in.Pattern = 9, reference.Random
		results := make([][]byte, world)
		group{world: world}.run(t, func(m *member) error {
			for range repetitions {
				got, err := c.run(m)
				if err != nil {
					return err
				}
				if results[m.rank] != nil && !bytes.Equal(results[m.rank], got) {
					return fmt.Errorf("%s: the result changed from run to run", c)
				}
				results[m.rank] = bytes.Clone(got)
			}
			return nil
		})
		for rank, got := range results {
			if c.collective.Name == "allreduce" && !bytes.Equal(got, results[0]) {
				t.Errorf("%s: ranks 0 and %d differ", c, rank)
			}
		}
	}
}

// Ranks are added in the order 0, 1, ..., in vectors and in single elements, so that a sum depends neither on the rank
// that computes it nor on the algorithm.
func TestRanksAreAddedInOrder(t *testing.T) {
	parallelInSimulator(t)
	const count = 1003
	for _, world := range []int{2, 3, 4, 8} {
		group{world: world}.run(t, func(m *member) error {
			for _, c := range calls(world, func(a *collective.Algorithm) bool { return a.Collective == "allreduce" }) {
				c.count, c.in.Seed, c.in.Pattern = count, 6, reference.Random
				got, err := c.run(m)
				if err != nil {
					return err
				}
				for i, x := range c.sumInOrder() {
					if bits := binary.LittleEndian.Uint32(got[4*i:]); bits != math.Float32bits(x) {
						return fmt.Errorf("%s: element %d is %#x, and %#x in rank order", c, i, bits, math.Float32bits(x))
					}
				}
			}
			return nil
		})
	}
}

func (c testCall) sumInOrder() []float32 {
	sum := make([]float32, c.count)
	for rank := range c.in.World {
		input := c.input(rank)
		for i := range sum {
			sum[i] += math.Float32frombits(binary.LittleEndian.Uint32(input[4*i:]))
		}
	}
	return sum
}

// Calls of all algorithms and of alternating sizes follow each other on one buffer without a wait: slots, flags and
// epochs are not confused. Out of place, each call gives the same result.
func TestCallsBackToBack(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range []int{2, 4} {
		group{world: world}.run(t, func(m *member) error {
			last := calls(world, func(a *collective.Algorithm) bool {
				return a.Collective == "allreduce" && a.Name == "twoshot"
			})[0]
			last.in.Seed, last.in.DType, last.count = 4, collective.Half, 30_000
			if err := last.fill(m); err != nil {
				return err
			}
			for i := range 6 {
				for _, c := range calls(world, nil) {
					c.in.DType, c.count = collective.Half, c.fit([]int64{30_000, 40, 3001}[i%3])
					if err := c.enqueue(m); err != nil {
						return err
					}
				}
			}
			if err := last.enqueue(m); err != nil {
				return err
			}
			if err := m.synchronize(); err != nil {
				return err
			}
			output := make([]byte, last.recvBytes()) // longer ones have overwritten what is around it
			if err := m.stream.Download(output, m.comm.Local(last.call(m).Recv)); err != nil {
				return err
			}
			return last.compare(m, output)
		})
	}
}

// A captured graph can be replayed, with other inputs each time.
func TestGraphReplaysWithChangedInputs(t *testing.T) {
	parallelInSimulator(t)
	for _, pdl := range []bool{false, true} {
		group{world: 4, pdl: pdl}.run(t, func(m *member) error {
			for _, c := range calls(m.world, nil) {
				c.in.DType, c.count = collective.BFloat16, c.fit(3000)
				if err := c.replay(m, 4); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// replay captures the call, twice in a row, and replays it with changed inputs.
func (c testCall) replay(m *member, times uint64) error {
	graph, err := m.stream.Capture(func() error {
		if err := c.enqueue(m); err != nil {
			return err
		}
		return c.enqueue(m)
	})
	if err != nil {
		return err
	}
	m.meet() // CUDA may wait for running kernels to make a graph
	for c.in.Seed = range times {
		if err := c.fill(m); err != nil {
			return err
		}
		if err := graph.Launch(m.stream); err != nil {
			return err
		}
		if err := m.synchronize(); err != nil {
			return err
		}
		if _, err := c.check(m); err != nil {
			return fmt.Errorf("replay %d: %w", c.in.Seed, err)
		}
	}
	m.meet()
	return graph.Close()
}

// Algorithms that do not access the peers' buffers run if these are not mapped.
func TestWithoutPeersBuffers(t *testing.T) {
	t.Parallel()
	without := func(a *collective.Algorithm) bool { return !a.Needs.Peers }
	group{world: 3, noPeers: true}.run(t, func(m *member) error {
		for _, c := range calls(m.world, without) {
			for _, c.count = range []int64{1, 1000, c.fit(50_000)} {
				for _, c.inPlace = range []bool{false, c.canRunInPlace()} {
					if _, err := c.run(m); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// The naive algorithm splits data that are too large for its scratch into chunks, the last of which is short, in place
// as well.
func TestNaiveInChunks(t *testing.T) {
	parallelInSimulator(t)
	naive := func(a *collective.Algorithm) bool { return a.Name == "naive" }
	group{world: 3}.run(t, func(m *member) error {
		for _, c := range calls(m.world, naive) {
			c.algorithm = inSmallChunks(c)
			c.in.DType, c.count = collective.Half, 1000
			for _, c.inPlace = range []bool{false, c.canRunInPlace()} {
				if _, err := c.run(m); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
