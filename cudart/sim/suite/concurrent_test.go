package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func concurrentKernels(r *rand.Rand) []kernel {
	large, steps := words(r, 24*1024), words(r, 32*9)
	text := randomBytes(r, 64*55)
	rows := []kernel{
		hashTable(r),
		workQueue(200),
		chain(words(r, 10*64), 64),
		{"peterson", cudart.Launch{Blocks: 2, Threads: 1}, []arg{
			inout([]uint32{0, 0}, []uint32{0, 0}), checked([]uint32{0}, func([]uint32) error { return nil }),
			inout([]uint32{0}, []uint32{40}), value(uint32(20)),
		}},
		{"producer_consumer", cudart.Launch{Blocks: 1, Threads: 64}, []arg{in(steps), out(fill(32, func(i int) (sum uint32) {
			for k := range 9 {
				sum = sum*5 + steps[32*k+31-i]
			}
			return sum
		})), value(uint32(9))}},
		{"lanes_in_turn", cudart.Launch{Blocks: 1, Threads: 32}, []arg{
			out(fill(32, func(i int) uint32 { return uint32((31 - i) * (31 - i)) })), inout([]uint32{0}, []uint32{32}),
		}},
		shortestPaths(r),
		{"large_shared", cudart.Launch{Blocks: 2, Threads: 512, SharedBytes: 4 * len(large)}, []arg{
			in(large), out(scattered(large)), value(uint32(len(large))),
		}},
		{"sha256", cudart.Launch{Blocks: 2, Threads: 32}, []arg{in(text), out(fill(512, func(i int) uint32 {
			sum := sha256.Sum256(text[i/8*55:][:55])
			return binary.BigEndian.Uint32(sum[i%8*4:])
		}))}},
	}
	return append(rows, components(r)...)
}

// scattered has element i at 7 i, modulo the length, which 7 does not divide.
func scattered(x []uint32) []uint32 {
	y := make([]uint32, len(x))
	for i, v := range x {
		y[i*7%len(x)] = v
	}
	return y
}

// hashTable compares keys and counts: their places depend on who came first.
func hashTable(r *rand.Rand) kernel {
	const size = 256
	keys := fill(512, func(int) uint32 { return 1 + r.Uint32N(200) })
	want, table := map[uint32]uint32{}, []uint32(nil)
	for _, key := range keys {
		want[key]++
	}
	return kernel{"hash_table", cudart.Launch{Blocks: 4, Threads: 128}, []arg{
		in(keys),
		checked(make([]uint32, size), func(got []uint32) error { table = got; return nil }),
		checked(make([]uint32, size), func(counts []uint32) error {
			for at, key := range table {
				if counts[at] != want[key] {
					return fmt.Errorf("the key %d was counted %d times, want %d", key, counts[at], want[key])
				}
				delete(want, key)
			}
			if len(want) > 0 {
				return fmt.Errorf("%d keys are missing", len(want))
			}
			return nil
		}),
		value(uint32(size)),
	}}
}

// components has a graph of 256 nodes with fewer edges than nodes.
func components(r *rand.Rand) []kernel {
	const n = 256
	from, to := below(r, n*3/4, n), below(r, n*3/4, n)
	own := fill(n, func(i int) uint32 { return uint32(i) })
	least := slices.Clone(own) // the least node of each component
	for range n {
		for i := range from {
			low := min(least[from[i]], least[to[i]])
			least[from[i]], least[to[i]] = low, low
		}
	}
	forest := func(got []uint32) error {
		for i := range got {
			at := uint32(i)
			for got[at] < at {
				at = got[at]
			}
			if at != least[i] {
				return fmt.Errorf("the root of node %d is %d, want %d", i, at, least[i])
			}
		}
		return nil
	}
	return []kernel{
		{"components", cudart.Launch{Blocks: 6, Threads: 32}, []arg{in(from), in(to), checked(own, forest)}},
		{"roots", cudart.Launch{Blocks: 2, Threads: 128}, []arg{in(least), out(least)}},
	}
}

// workQueue begins with one task.
func workQueue(first uint32) kernel {
	tasks, sum := []uint32{first}, uint64(0)
	for i := 0; i < len(tasks); i++ {
		task := tasks[i]
		sum += uint64(task) * uint64(task)
		for k := uint32(2); k <= 3; k++ {
			if task/k > 0 {
				tasks = append(tasks, task/k)
			}
		}
	}
	const blocks = 6
	n := len(tasks)
	ready := append(fill(n, func(int) uint32 { return 1 }), make([]uint32, blocks)...)
	before := make([]uint32, n+blocks)
	before[0] = 1
	return kernel{"work_queue", cudart.Launch{Blocks: blocks, Threads: 32}, []arg{
		sorted(append([]uint32{first}, make([]uint32, n-1)...), slices.Sorted(slices.Values(tasks))),
		inout(before, ready), inout([]uint32{0}, []uint32{uint32(n + blocks)}), inout([]uint32{1}, []uint32{uint32(n)}),
		inout([]uint32{1}, []uint32{0}), inout([]uint64{0}, []uint64{sum}),
	}}
}

func chain(rows []uint32, n int) kernel {
	after := slices.Clone(rows)
	for i := n; i < len(after); i++ {
		after[i] += 3 * after[i/n*n-1-i%n]
	}
	blocks := len(rows) / n
	return kernel{"chain", cudart.Launch{Blocks: blocks, Threads: n}, []arg{
		inout(rows, after), inout(make([]uint32, blocks), fill(blocks, func(int) uint32 { return 1 })),
		inout([]uint32{0}, []uint32{uint32(blocks)}),
	}}
}

func shortestPaths(r *rand.Rand) kernel {
	distance := fill(1024, func(i int) uint32 {
		switch {
		case i%32 == i/32:
			return 0
		case r.IntN(8) == 0:
			return 1 + r.Uint32N(100)
		}
		return math.MaxUint32 / 4
	})
	after := slices.Clone(distance)
	for k := range 32 {
		for i := range after {
			after[i] = min(after[i], after[i/32*32+k]+after[32*k+i%32])
		}
	}
	return kernel{"shortest_paths", cudart.Launch{Blocks: 1, Threads: 1024}, []arg{inout(distance, after)}}
}
