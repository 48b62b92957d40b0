package conformance

import (
	"fmt"
	"os"
	"slices"
)

// exhaustive reports whether tests run every case. `go test` alone runs at least one case of each
// kind, in less than half the processor time; with GPURUN_EXHAUSTIVE=1 it runs all of them. GPURUN_SHARD=0/6
// leaves out five sixths of the longest lists again: see [inShard].
func exhaustive() bool { return os.Getenv("GPURUN_EXHAUSTIVE") == "1" }

// inShard reports whether an exhaustive run has case number i of a long list: of GPURUN_SHARD=k/n those with
// i%n = k, and else all.
func inShard(i int) bool {
	shard, of := 0, 1
	if text := os.Getenv("GPURUN_SHARD"); text != "" {
		if _, err := fmt.Sscanf(text, "%d/%d", &shard, &of); err != nil || shard < 0 || shard >= of {
			panic(fmt.Sprintf("GPURUN_SHARD=%s is not of the form k/n with 0 <= k < n", text))
		}
	}
	return exhaustive() && i%of == shard
}

// sample returns all cases in an exhaustive run and on GPUs, and else those with the given indices.
func sample[T any](all []T, indices ...int) []T {
	if exhaustive() || os.Getenv("GPURUN_TEST_DEVICE") == "cuda" {
		return all
	}
	some := make([]T, len(indices))
	for i, index := range indices {
		some[i] = all[index]
	}
	return some
}

// inTurn returns the cases with the given indices, and in an exhaustive run those of the shard as well; on GPUs all.
func inTurn[T any](all []T, always ...int) []T {
	var some []T
	for i, c := range all {
		if slices.Contains(always, i) || inShard(i) || os.Getenv("GPURUN_TEST_DEVICE") == "cuda" {
			some = append(some, c)
		}
	}
	return some
}

// seeds returns the first half of the given seeds. In an exhaustive run it returns all of them, and those of the shard
// from 0 to all-1.
func seeds(all uint64, some ...uint64) []uint64 {
	if !exhaustive() {
		return some[:(len(some)+1)/2]
	}
	for seed := range all {
		if inShard(int(seed)) && !slices.Contains(some, seed) {
			some = append(some, seed)
		}
	}
	return some
}
