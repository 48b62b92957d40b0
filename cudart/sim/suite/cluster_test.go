package suite

import (
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func clusterKernels(r *rand.Rand) []kernel {
	const steps = 7
	line, w := floats(r, 512), words(r, 3000)
	rows, x := floats(r, 7*256), floats(r, 256)
	bins := make([]uint32, 1024)
	for _, x := range w {
		bins[x%1024]++
	}
	return []kernel{
		{"jacobi_cluster", cudart.Launch{Blocks: 8, Threads: 64, Cluster: 4}, []arg{
			in(line), out(slices.Concat(smooth(line[:256], steps), smooth(line[256:], steps))), value(uint32(steps)),
		}},
		{"histogram_cluster", cudart.Launch{Blocks: 8, Threads: 256, Cluster: 4}, []arg{
			in(w), inout(make([]uint32, 1024), bins), value(uint32(len(w))),
		}},
		{"dot_bulk", cudart.Launch{Blocks: 1, Threads: 256}, []arg{in(rows), in(x), out(fill(7, func(i int) float32 {
			return blockSum(fill(256, func(k int) float32 { return rows[256*i+k] * x[k] }))
		})), value(uint32(7))}},
	}
}

// smooth averages each number with its neighbors; those at the ends are their own.
func smooth(x []float32, steps int) []float32 {
	for range steps {
		x = fill(len(x), func(i int) float32 {
			left, right := x[max(i-1, 0)], x[min(i+1, len(x)-1)]
			return float32(0.5*x[i]) + float32(0.25*(left+right))
		})
	}
	return x
}
