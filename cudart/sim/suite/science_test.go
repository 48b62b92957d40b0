package suite

import (
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func scienceKernels(r *rand.Rand) []kernel {
	text := randomBytes(r, 512*20)
	letter := func(int) uint8 { return uint8(r.Uint32N(4)) }
	a, b := fill(100, letter), fill(100, letter)
	cells := words(r, 4*64)
	signal := floats(r, 2*512)
	transforms := slices.Concat(fourier(signal[:512]), fourier(signal[512:])) // sums of 256, of 8 roundings each
	rows := []kernel{
		{"mandelbrot", cudart.Launch{Blocks: 16, Threads: 128}, []arg{
			out(fill(2048, func(i int) uint32 { return mandelbrot(i, 64, 100) })),
			value(uint32(64)), value(float32(-2)), value(float32(-1.2)), value(float32(0.05)), value(uint32(100)),
		}},
		{"fft", cudart.Launch{Blocks: 2, Threads: 128}, []arg{
			in(signal), near[float32](transforms, relative(0, 1e-4)).deterministic(), in(twiddles(128)),
		}},
		{"life", cudart.Launch{Blocks: 2, Threads: 128}, []arg{
			in(cells), out(life(cells, 4, 64)), value(uint32(4)), value(uint32(64)),
		}},
		{"lcs", cudart.Launch{Blocks: 1, Threads: 128}, []arg{in(a), in(b), out([]uint32{lcs(a, b)}), value(uint32(100))}},
		{"crc", cudart.Launch{Blocks: 2, Threads: 256}, []arg{
			in(text), out(fill(512, func(i int) uint32 { return crc32.ChecksumIEEE(text[20*i:][:20]) })), value(uint32(20)),
		}},
		nbody(floats(r, 4*128)),
	}
	return append(rows, graphKernels(r)...)
}

func mandelbrot(i, width int, most uint32) (n uint32) {
	cx, cy := -2+float32(float32(0.05)*float32(i%width)), -1.2+float32(float32(0.05)*float32(i/width))
	var x, y float32
	for n < most && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(float32(x*x)-float32(y*y))+cx, float32(float32(2*x)*y)+cy
		n++
	}
	return n
}

// nbody allows for rsqrt.approx, whose error is 2^-22.9 of the result, and sums in single precision.
func nbody(bodies []float32) kernel {
	n := len(bodies) / 4
	want, terms := make([]float64, 4*n), 0.0
	for i := range n {
		for k := range n {
			var d [3]float64
			square := 0.01
			for axis := range d {
				d[axis] = float64(bodies[4*k+axis]) - float64(bodies[4*i+axis])
				square += d[axis] * d[axis]
			}
			for axis := range d {
				term := d[axis] * float64(bodies[4*k+3]) / (square * math.Sqrt(square))
				want[4*i+axis] += term
				terms = max(terms, math.Abs(term))
			}
		}
	}
	return kernel{"nbody", cudart.Launch{Blocks: n / 64, Threads: 64}, []arg{
		in(bodies), near[float32](want, relative(0, float64(n)*terms*16*0x1p-24)), value(uint32(n)),
	}}
}

// twiddles are the first n powers of the 2n-th root of 1.
func twiddles(n int) []float32 {
	return fill(2*n, func(i int) float32 {
		s, c := math.Sincos(-math.Pi * float64(i/2) / float64(n))
		return float32([]float64{c, s}[i%2])
	})
}

func fourier(x []float32) []float64 {
	n := len(x) / 2
	want := make([]float64, 2*n)
	for k := range n {
		for i := range n {
			s, c := math.Sincos(-2 * math.Pi * float64(i*k%n) / float64(n))
			re, im := float64(x[2*i]), float64(x[2*i+1])
			want[2*k] += re*c - im*s
			want[2*k+1] += re*s + im*c
		}
	}
	return want
}

func life(cells []uint32, words, height int) []uint32 {
	at := func(x, y int) uint32 {
		x, y = (x+32*words)%(32*words), (y+height)%height
		return cells[y*words+x/32] >> (x % 32) & 1
	}
	return fill(words*height, func(i int) (want uint32) {
		for bit := range 32 {
			x, y := i%words*32+bit, i/words
			sum := at(x-1, y-1) + at(x, y-1) + at(x+1, y-1) + at(x-1, y) + at(x+1, y) + at(x-1, y+1) + at(x, y+1) + at(x+1, y+1)
			if sum == 3 || sum == 2 && at(x, y) == 1 {
				want |= 1 << bit
			}
		}
		return want
	})
}

func lcs(a, b []uint8) uint32 {
	row := make([]uint32, len(b)+1)
	for _, x := range a {
		corner := uint32(0)
		for i, y := range b {
			above := row[i+1]
			if x == y {
				row[i+1] = corner + 1
			} else {
				row[i+1] = max(above, row[i])
			}
			corner = above
		}
	}
	return row[len(b)]
}

// graphKernels work on one sparse matrix, whose rows are also the edges of a graph.
func graphKernels(r *rand.Rand) []kernel {
	const n = 200
	rows, columns := []uint32{0}, []uint32{}
	for range n {
		for range r.IntN(80) {
			columns = append(columns, r.Uint32N(n))
		}
		rows = append(rows, uint32(len(columns)))
	}
	values, x := doubles(r, len(columns)), doubles(r, n)
	frontier := []uint32{3, 5, 8, 13, 21, 34, 55, 89}
	distance := fill(n, func(i int) uint32 {
		if slices.Contains(frontier, uint32(i)) {
			return 6
		}
		return math.MaxUint32
	})
	reached, next := slices.Clone(distance), []uint32{}
	for _, v := range frontier {
		for _, to := range columns[rows[v]:rows[v+1]] {
			if reached[to] == math.MaxUint32 {
				reached[to], next = 7, append(next, to)
			}
		}
	}
	slices.Sort(next)
	return []kernel{
		{"spmv", cudart.Launch{Blocks: n / 4, Threads: 128}, []arg{
			in(rows), in(columns), in(values), in(x), out(fill(n, func(i int) float64 {
				return warpDot(columns[rows[i]:rows[i+1]], values[rows[i]:], x)
			})), value(uint32(n)),
		}},
		{"bfs", cudart.Launch{Blocks: 1, Threads: 32}, []arg{
			in(rows), in(columns), inout(distance, reached), in(frontier), value(uint32(len(frontier))),
			sorted(poison[uint32](len(next)), next), inout([]uint32{0}, []uint32{uint32(len(next))}), value(uint32(7)),
		}},
	}
}

// warpDot multiplies a sparse row by a vector, in the order of a warp.
func warpDot(columns []uint32, values, x []float64) float64 {
	lanes := make([]float64, 32)
	for i, c := range columns {
		lanes[i%32] += float64(values[i] * x[c])
	}
	for d := 16; d > 0; d /= 2 {
		lanes = fill(32, func(i int) float64 { return lanes[i] + lanes[i^d] })
	}
	return lanes[0]
}
