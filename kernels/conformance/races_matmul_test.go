package conformance

import (
	"fmt"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// checkProducts makes calls of a product under the race checker, two of them behind each other, on devices with so many
// multiprocessors.
func checkProducts(t *testing.T, major, sms int, c matmulCall, seed uint64) *check.Report {
	t.Helper()
	checker, err := check.New(check.Config{Ranks: c.in.World, Major: major, SMs: sms, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	p := checktask.Products{
		Operation: c.operation, Algorithm: c.algorithm, Problems: []matmul.Problem{c.problem}, Launches: 2, PDL: major > 8,
	}
	report, err := checker.Run(seed, p.Task)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	return report
}

// The fused products have no race, and everything is checked: on compute capability 9.0 their bulk copies, mbarriers,
// tensors, clusters and wgmma, on 8.0 their small copies and ldmatrix.
func TestFusedProductsHaveNoRace(t *testing.T) {
	t.Parallel()
	const world = 2
	for _, major := range inTurn([]int{8, 9}, 1) {
		p := matmul.Problem{M: 256 * world, N: 40, K: 72, DType: collective.Half}
		for _, c := range fusedKinds(p, world) {
			t.Run(fmt.Sprintf("%s %s on %d.0", c.operation.Name, c.algorithm.Name, major), func(t *testing.T) {
				for _, seed := range seeds(4, 0) {
					if r := checkProducts(t, major, 2, c, seed); !r.Clean() {
						t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
					}
				}
			})
		}
	}
}

// A gather whose shards are no whole tiles has no race: no box of a tensor reaches into the next shard, which may be on
// its way.
func TestGatherReadsItsShardAlone(t *testing.T) {
	t.Parallel()
	c := fusedKinds(matmul.Problem{M: 18, N: 40, K: 72, DType: collective.Half}, 2)[0]
	for _, seed := range seeds(8, 0) {
		if r := checkProducts(t, 9, 2, c, seed); !r.Clean() {
			t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
		}
	}
}

// Local products by wgmma.cu have no race: with rows of A that no box copies, with tiles in pairs side by side, behind
// pairs one below the other on the same cluster, and with pieces of such tiles; nor have transposed products.
func TestLocalProductsHaveNoRace(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		m, n, k int64
		sms     int
	}{
		{40, 100, 64 * 9, 2}, // more slices than stages
		{90, 396, 200, 2},    // three pairs, the last one with one tile
		{300, 204, 64*5 + 8, 2},
		{90, 100, 64 * 40, 4},
		{300, 520, 136, 2}, // transposed: tiles that TMA stores, then a pair side by side
	} {
		p := matmul.Problem{M: c.m, N: c.n, K: c.k, DType: matmul.DTypes()[i%2]}
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			call := namedCalls([]string{"matmul-allreduce decomposed"}, p, 1)[0]
			for _, seed := range seeds(3, 0) {
				if r := checkProducts(t, 9, c.sms, call, seed); !r.Clean() {
					t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
				}
			}
		})
	}
}
