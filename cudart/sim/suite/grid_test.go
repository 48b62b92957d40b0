package suite

import (
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func gridKernels(r *rand.Rand) []kernel {
	const n = 64
	wide, square, sums := floats(r, 50*35), floats(r, n*n), words(r, 512)
	voxels := randomBytes(r, 13*9*7)
	plane := cudart.Launch{GridDim: cudart.Dim3{X: n / 32, Y: n / 16}, BlockDim: cudart.Dim3{X: 32, Y: 16}}
	lines := cudart.Launch{GridDim: cudart.Dim3{X: n / 64, Y: n / 4}, BlockDim: cudart.Dim3{X: 64, Y: 4}}
	size, one := value(uint32(n)), value(uint32(1))
	rowsDone := convolve(square, n)
	return []kernel{
		{
			"transpose",
			cudart.Launch{GridDim: cudart.Dim3{X: 4, Y: 3}, BlockDim: cudart.Dim3{X: 16, Y: 16}},
			[]arg{in(wide), out(transposed(wide, 50)), value(uint32(50)), value(uint32(35))},
		},
		{"jacobi", plane, []arg{in(square), out(jacobi(square, n)), size}},
		{"convolve", lines, []arg{in(square), out(rowsDone), size, one, size}},
		{"convolve", lines, []arg{in(rowsDone), out(transposed(convolve(transposed(rowsDone, n), n), n)), size, size, one}},
		{
			"volume_filter",
			cudart.Launch{GridDim: cudart.Dim3{X: 2, Y: 3, Z: 4}, BlockDim: cudart.Dim3{X: 8, Y: 4, Z: 2}},
			[]arg{in(voxels), out(volumeFilter(voxels, 13, 9, 7)), structure([3]uint32{13, 9, 7}, 4)},
		},
		gridScan(sums),
	}
}

// gridScan has 9 doublings: the sums are in the second buffer, and those of the 8th in the first.
func gridScan(x []uint32) kernel {
	return kernel{
		"scan_grid",
		cudart.Launch{Blocks: len(x) / 64, Threads: 64, Cooperative: true},
		[]arg{
			inout(x, doubled(x, 8)), out(doubled(x, 9)), inout([]uint32{0}, []uint32{uint32(9 * len(x) / 64)}),
			value(uint32(len(x))),
		},
	}
}

// doubled adds what is 1, 2, 4 and so on before each element, so many times.
func doubled(x []uint32, times int) []uint32 {
	for k := range times {
		x = fill(len(x), func(i int) uint32 {
			if i < 1<<k {
				return x[i]
			}
			return x[i] + x[i-1<<k]
		})
	}
	return x
}

func jacobi(x []float32, n int) []float32 {
	next := slices.Clone(x)
	for i := range x {
		if row, column := i/n, i%n; row > 0 && row < n-1 && column > 0 && column < n-1 {
			next[i] = 0.25 * (x[i-1] + x[i+1] + (x[i-n] + x[i+n]))
		}
	}
	return next
}

// convolve sums 9 neighbors in each row of n, from the left to the right.
func convolve(x []float32, n int) []float32 {
	taps := [9]float32{0.0625, 0.125, 0.25, 0.5, 1, 0.5, 0.25, 0.125, 0.0625}
	return fill(len(x), func(i int) (sum float32) {
		for k, tap := range taps {
			var neighbor float32
			if column := i%n + k - 4; column >= 0 && column < n {
				neighbor = x[i+k-4]
			}
			sum = fma32(tap, neighbor, sum)
		}
		return sum
	})
}

func volumeFilter(voxels []uint8, width, height, depth int) []uint8 {
	inside := func(at, size int) int { return min(max(at, 0), size-1) }
	return fill(len(voxels), func(i int) uint8 {
		x, y, z, sum := i%width, i/width%height, i/(width*height), 0
		for d := range 27 {
			u, v, w := inside(x+d%3-1, width), inside(y+d/3%3-1, height), inside(z+d/9-1, depth)
			sum += int(voxels[(w*height+v)*width+u])
		}
		return uint8(sum / 27)
	})
}
