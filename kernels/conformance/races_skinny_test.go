package conformance

import (
	"fmt"
	"testing"

	"gpurun/kernels/matmul"
)

// Local products of an A of few rows have no race: with K undivided and divided, with blocks that share A, with
// more slices than a pipeline has stages, and behind each other.
func TestSkinnyProductsHaveNoRace(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		m, n, k int64
		sms     int
	}{
		{1, 8, 8, 2},
		{16, 72, 64 * 24, 2},      // two tiles of 40 columns
		{15, 8, 64*31 + 8, 9},     // K in 8 parts
		{31, 72, 64 * 16, 9},      // in 4
		{64, 200, 64 * 32, 10},    // in 2, and 4 blocks share A
		{128, 200, 64*23 + 8, 10}, // in 2, four tiles, the last of 8 columns
		{128, 8, 64 * 20, 2},      // in 2
		{72, 40, 64 * 24, 4},      // in 2, 112 rows
		{150, 8, 64 * 28, 2},      // in 2, 160 rows
		{170, 8, 64 * 24, 6},      // in 2, by three warpgroups
		{130, 8, 64 * 40, 9},      // in 4
	} {
		p := matmul.Problem{M: c.m, N: c.n, K: c.k, DType: matmul.DTypes()[i%2]}
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			call := namedCalls([]string{"matmul-allreduce decomposed"}, p, 1)[0]
			for seed := range uint64(3) {
				if seed > 0 && !inShard(3*i+int(seed)) {
					continue
				}
				if r := checkProducts(t, 9, c.sms, call, seed); !r.Clean() {
					t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
				}
			}
		})
	}
}

// A product that is launched early waits for the kernel before it, which writes its A.
func TestSkinnyProductWaitsForItsOperands(t *testing.T) {
	t.Parallel()
	p := matmul.Problem{M: 32, N: 72, K: 64 * 8, DType: matmul.DTypes()[0]}
	call := namedCalls([]string{"allgather-matmul decomposed"}, p, 2)[0]
	for _, seed := range seeds(8, 0, 1) {
		if r := checkProducts(t, 9, 4, call, seed); !r.Clean() {
			t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
		}
	}
}
