package conformance

import "os"

// exhaustive reports whether tests run every case. `go test` alone runs at least one case of each
// kind, in less than half the processor time; with GPURUN_EXHAUSTIVE=1, as in continuous integration,
// it runs all of them.
func exhaustive() bool { return os.Getenv("GPURUN_EXHAUSTIVE") == "1" }

// sample returns all cases in an exhaustive run, and else those with the given indices.
func sample[T any](all []T, indices ...int) []T {
	if exhaustive() {
		return all
	}
	some := make([]T, len(indices))
	for i, index := range indices {
		some[i] = all[index]
	}
	return some
}

// seeds returns the seeds from 0 to all-1 in an exhaustive run, and else the given ones.
func seeds(all uint64, some ...uint64) []uint64 {
	if !exhaustive() {
		return some
	}
	every := make([]uint64, all)
	for i := range every {
		every[i] = uint64(i)
	}
	return every
}
