package suite

import (
	"math/rand/v2"

	"gpurun/cudart"
)

func callsKernels(r *rand.Rand) []kernel {
	const threads = 96
	shape := cudart.Launch{Blocks: 3, Threads: 32}
	keys := words(r, 40*threads)
	tree, bounds := searchTree(200), below(r, threads, 450)
	which, x := words(r, threads), words(r, threads)
	small := below(r, threads, 1000)
	lists := words(r, 10*threads)
	return []kernel{
		{"sort_quick", shape, []arg{inout(keys, sortedBy(keys, 40)), value(uint32(40))}},
		{"tree_walk", shape, []arg{in(tree), value(uint32(len(tree))), in(bounds), out(fill(threads, func(i int) uint32 {
			return walk(uint32(len(tree)), bounds[i])
		}))}},
		{"by_pointer", shape, []arg{in(which), in(x), out(fill(threads, func(i int) uint32 {
			return operations[which[i]&3](x[i], uint32(i))
		}))}},
		{"linked_list", shape, []arg{in(lists), out(fill(threads, func(i int) (sum uint32) {
			for k := 9; k >= 0; k-- {
				sum = sum*31 + lists[10*i+k]
			}
			return sum
		})), value(uint32(10))}},
		{"prints", shape, []arg{in(small)}},
		{"asserts", shape, []arg{in(small), out(fill(threads, func(i int) uint32 { return 2 * small[i] }))}},
		{"variables", shape, []arg{in(x), out(fill(threads, func(i int) uint32 { return variables(x[i], i) }))}},
		{"count_launches", cudart.Launch{Blocks: 1, Threads: 1}, []arg{out([]uint32{7 + 3})}},
	}
}

// searchTree has the odd numbers in order, where the children of node i are 2 i + 1 and 2 i + 2.
func searchTree(n int) []uint32 {
	tree, next := make([]uint32, n), uint32(1)
	var number func(at int)
	number = func(at int) {
		if at < n {
			number(2*at + 1)
			tree[at], next = next, next+2
			number(2*at + 2)
		}
	}
	number(0)
	return tree
}

// walk hashes the first n odd numbers that are below a bound.
func walk(n, bound uint32) uint32 {
	hash := uint32(7)
	for x := uint32(1); x < min(bound, 2*n); x += 2 {
		hash = hash*31 + x
	}
	return hash
}

var operations = [4]func(a, b uint32) uint32{
	func(a, b uint32) uint32 { return a + b },
	func(a, b uint32) uint32 { return a * b },
	func(a, b uint32) uint32 { return a<<(b&31) | a>>(-b&31) },
	func(a, b uint32) uint32 {
		x := uint32(1)
		for range b & 15 {
			x *= a
		}
		return x
	},
}

func variables(x uint32, i int) uint32 {
	var digits [8]uint32
	for k := range digits {
		digits[(3*k+i)%8] = x >> (4 * k) & 15
	}
	sum := uint32(5)
	for k := range digits {
		sum += digits[(x>>k)%8] * [8]uint32{2, 3, 5, 7, 11, 13, 17, 19}[(uint32(k)+digits[k])%8]
	}
	return sum
}
