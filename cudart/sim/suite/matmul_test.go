package suite

import (
	"math"
	"math/rand/v2"

	"gpurun/cudart"
)

// Matrices of small integers: all sums are exact, in any order. The rounding of tensor cores has tests of its own.
func matmulKernels(r *rand.Rand) []kernel {
	const n = 64
	a, b, c := integers(r, n*n, 8), integers(r, n*n, 8), integers(r, n*n, 100)
	x, y := floats(r, n*n), floats(r, n*n)
	ordered := fill(n*n, func(i int) (sum float32) {
		for k := range n {
			sum = fma32(x[i/n*n+k], y[k*n+i%n], sum)
		}
		return sum
	})
	tiles := func(height, width int) cudart.Launch {
		return cudart.Launch{Blocks: n / height * (n / width), Threads: 32}
	}
	plus := multiply(a, b, n, n)
	for i := range plus {
		plus[i] += c[i]
	}
	size := value(uint32(n))
	rows := []kernel{
		{"matmul_tiled", cudart.Launch{Blocks: 16, Threads: 256}, []arg{in(x), in(y), out(ordered), size}},
		{"matmul_pipelined", cudart.Launch{Blocks: 1, Threads: 256, SharedBytes: 16384}, []arg{
			in(x), in(y), out(ordered), size,
		}},
		{"matmul_wmma", tiles(16, 16), []arg{
			in(as(a, toHalf)), in(as(b, toHalf)), inout(as(c, single), as(plus, single)), size,
		}},
		{"matmul_wmma_i8", tiles(16, 16), []arg{
			in(as(a, toInt8)), in(as(transposed(b, n), toInt8)), out(as(multiply(a, b, n, n), toInt32)), size,
		}},
		{"matmul_f64", tiles(8, 8), []arg{in(a), in(transposed(b, n)), out(multiply(a, b, n, n)), size}},
		{"matmul_ldmatrix", tiles(16, 8), []arg{
			in(as(a, toHalf)), in(as(b, toHalf)), out(as(multiply(a, b, n, n), single)), size,
		}},
	}
	return append(rows,
		mma(r, "matmul_f16", 2, 8, toHalf, single),
		mma(r, "matmul_bf16", 2, 8, toBfloat, single),
		mma(r, "matmul_tf32", 1, 8, single, single),
		mma(r, "matmul_s8", 4, 127, toInt8, toInt32),
		nibbles(r))
}

// mma is a product of 32 x k by k x 24, with k elements, so many to a word, along the rows of both matrices.
func mma[T, S any](r *rand.Rand, entry string, perWord int, most int, to func(float64) T, sum func(float64) S) kernel {
	k := 16 * perWord
	a, b := integers(r, 32*k, most), integers(r, 24*k, most)
	return kernel{entry, cudart.Launch{Blocks: 2 * 3, Threads: 32}, []arg{
		in(as(a, to)), in(as(b, to)), out(as(multiply(a, transposed(b, k), k, 24), sum)),
		value(uint32(24)), value(uint32(16)),
	}}
}

// nibbles has eight numbers of 4 bits in a word, the first in the lowest.
func nibbles(r *rand.Rand) kernel {
	const k = 128
	a, b := words(r, 32*k/8), words(r, 24*k/8)
	unpack := func(x []uint32) []float64 {
		return fill(8*len(x), func(i int) float64 { return float64(x[i/8] >> (i % 8 * 4) & 15) })
	}
	want := multiply(unpack(a), transposed(unpack(b), k), k, 24)
	return kernel{"matmul_u4", cudart.Launch{Blocks: 2 * 3, Threads: 32}, []arg{
		in(a), in(b), out(as(want, toInt32)), value(uint32(24)), value(uint32(16)),
	}}
}

// integers are at most so large, of both signs.
func integers(r *rand.Rand, n, most int) []float64 {
	return fill(n, func(int) float64 { return float64(r.IntN(2*most+1) - most) })
}

// multiply has the products of the rows of a, k long, and the columns of b, of which there are n.
func multiply(a, b []float64, k, n int) []float64 {
	return fill(len(a)/k*n, func(i int) (sum float64) {
		for at := range k {
			sum += a[i/n*k+at] * b[at*n+i%n]
		}
		return sum
	})
}

// transposed turns rows of a width into columns.
func transposed[T any](x []T, width int) []T {
	height := len(x) / width
	return fill(len(x), func(i int) T { return x[i%height*width+i/height] })
}

// as converts all elements.
func as[T any](x []float64, to func(float64) T) []T {
	return fill(len(x), func(i int) T { return to(x[i]) })
}

func single(x float64) float32 { return float32(x) }
func toInt8(x float64) int8    { return int8(x) }
func toInt32(x float64) int32  { return int32(x) }

// fma32 rounds once. The product is exact in double precision; the sum is rounded to odd there, which keeps what the
// rounding to single precision needs.
func fma32(a, b, c float32) float32 {
	product := float64(a) * float64(b)
	sum := product + float64(c)
	rounded := sum - product
	rest := product - (sum - rounded) + (float64(c) - rounded)
	if bits := math.Float64bits(sum); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
