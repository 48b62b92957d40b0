package suite

import (
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func reduceKernels(r *rand.Rand) []kernel {
	const blocks = 20
	x, xd := floats(r, 256*blocks), doubles(r, 512*4)
	partial := fill(blocks, func(i int) float32 { return blockSum(x[256*i:][:256]) })
	all := slices.Concat(partial, make([]float32, 256-blocks))
	w := words(r, 2000)
	counts, keys := make([]uint32, 256), make([]uint32, 7)
	for _, b := range encode(w) {
		counts[b]++
	}
	for _, v := range w[:1024] {
		keys[v%7]++
	}
	shape := cudart.Launch{Blocks: blocks, Threads: 256}
	rows := []kernel{
		{"reduce_shuffle", shape, []arg{in(x), out(partial)}},
		{"reduce_ticket", shape, []arg{
			in(x), out(partial), out([]float32{blockSum(all)}), inout([]uint32{0}, []uint32{blocks}),
		}},
		{"reduce_tree", cudart.Launch{Blocks: 4, Threads: 512, SharedBytes: 4096}, []arg{
			in(xd), out(fill(4, func(i int) float64 { return treeSum(xd[512*i:][:512]) })),
		}},
		{"warp_reductions", cudart.Launch{Blocks: 4, Threads: 64}, []arg{in(w[:256]), out(fill(2048, func(i int) uint32 {
			return warpReductions(w[i/256*32:][:32], i/8%32)[i%8]
		}))}},
		{"histogram_shared", cudart.Launch{Blocks: 3, Threads: 256}, []arg{
			in(w), inout(make([]uint32, 256), counts), value(uint32(len(w))),
		}},
		{"histogram_match", cudart.Launch{Blocks: 4, Threads: 256}, []arg{in(w[:1024]), inout(make([]uint32, 7), keys)}},
	}
	return append(rows, atomicKernels(w)...)
}

func atomicKernels(w []uint32) []kernel {
	before := []uint32{5, 6, 1 << 31, 1<<32 - 1, 0, 9, 98, 3, 1}
	after := slices.Clone(before)
	wide := []uint64{1, 2}
	wideAfter, sum, locked := slices.Clone(wide), float32(0), uint64(11)
	for i, x := range w[:384] {
		after[0] += x
		after[1] = max(after[1], x)
		after[2] = min(after[2], x)
		after[3] &= x | 0xff00ff
		after[4] |= x & 0xff00ff
		after[5] ^= x
		if after[6]++; after[6] > 99 {
			after[6] = 0
		}
		if after[7]--; after[7] > 76 { // below 0
			after[7] = 76
		}
		after[8] *= x | 1
		wideAfter[0] += uint64(x) * uint64(x)
		wideAfter[1] = max(wideAfter[1], uint64(x)*0x100000001)
		sum += float32(x % 16) // exact
		if i < 96 {
			locked += uint64(x)
		}
	}
	return []kernel{
		{"lock", cudart.Launch{Blocks: 3, Threads: 32}, []arg{
			inout([]uint32{0}, []uint32{0}), inout([]uint64{11}, []uint64{locked}), in(w[:96]),
		}},
		{"atomics", cudart.Launch{Blocks: 3, Threads: 128}, []arg{
			inout(before, after), inout(wide, wideAfter), inout([]float32{0}, []float32{sum}), in(w[:384]),
		}},
	}
}

// blockSum adds 256 numbers in the order of the kernels: a butterfly in each warp, then warp by warp.
func blockSum(x []float32) float32 {
	var sum float32
	for w := range 8 {
		lanes := slices.Clone(x[32*w:][:32])
		for d := 16; d > 0; d /= 2 {
			lanes = fill(32, func(i int) float32 { return lanes[i] + lanes[i^d] })
		}
		if w == 0 {
			sum = lanes[0]
		} else {
			sum += lanes[0]
		}
	}
	return sum
}

func treeSum(x []float64) float64 {
	x = slices.Clone(x)
	for d := len(x) / 2; d > 0; d /= 2 {
		for i := range d {
			x[i] += x[i+d]
		}
	}
	return x[0]
}

// warpReductions is what a lane gets of its warp's values.
func warpReductions(x []uint32, lane int) [8]uint32 {
	halfWarp := x[lane/16*16:][:16]
	want := [8]uint32{1: slices.Max(halfWarp), 2: x[0], 7: 1<<32 - 1}
	all, some := uint32(1), uint32(0)
	for _, v := range halfWarp {
		want[0] += v
		if v&255 == 0 {
			all, some = 0, 1
		}
	}
	want[6] = 2*all + some
	for i, v := range x {
		want[2] = uint32(min(int32(want[2]), int32(v)))
		want[3] ^= v
		if v%5 == x[lane]%5 {
			want[4] |= 1 << i
		}
		want[5] |= (v >> 2 & 1) << i
	}
	return want
}
