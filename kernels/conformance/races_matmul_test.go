package conformance

import (
	"errors"
	"fmt"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// checkedMember is a rank of the race checker as a member of a group with memory for calls of products.
func checkedMember(r *check.Rank, g group, q *sharedQuantities) (*member, error) {
	m := &member{
		rank: r.Number, world: r.World, bytes: g.bytes, device: r.Device, quantities: q,
		meet: func() { _ = r.Meet() }, // an error ends the run
	}
	cfg := collective.Config{
		Device: r.Device, Source: g.complete().source, Rank: r.Number, Timeout: waitTimeout, PDL: g.pdl,
		SMs: r.Device.Info().SMs, MaxBlocks: collective.MaxBlocks,
	}
	bytes := m.layOut(&cfg)
	base, err := r.Device.Malloc(bytes)
	if err != nil {
		return nil, err
	}
	r.Name(base, bytes, "symmetric memory")
	r.Name(base+cudart.DevicePtr(m.send), m.recv-m.send, "saved buffers")
	if cfg.Peers, err = r.Share(base); err != nil {
		return nil, err
	}
	var errComm, errStream error
	m.comm, errComm = collective.New(cfg)
	m.stream, errStream = r.Device.NewStream()
	return m, errors.Join(errComm, errStream)
}

// checkProducts makes each of some calls of products twice under the race checker.
func checkProducts(t *testing.T, major int, c matmulCall, seed uint64) *check.Report {
	t.Helper()
	checker, err := check.New(check.Config{Ranks: c.in.World, Major: major, SMs: 2, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	var q sharedQuantities
	calls := []matmulCall{c, c}
	g := groupFor(c.in.World, nil, calls)
	report, err := checker.Run(seed, func(r *check.Rank) error {
		m, err := checkedMember(r, g, &q)
		if err != nil {
			return err
		}
		runner, err := newRunner(m)
		if err != nil {
			return err
		}
		return errors.Join(runMatmuls(m, runner, calls), m.comm.Close())
	})
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
	for _, major := range []int{8, 9} {
		p := matmul.Problem{M: 256 * world, N: 40, K: 72, DType: collective.Half}
		for _, c := range fusedKinds(p, world) {
			t.Run(fmt.Sprintf("%s %s on %d.0", c.operation.Name, c.algorithm.Name, major), func(t *testing.T) {
				for _, seed := range seeds(4, 0) {
					if r := checkProducts(t, major, c, seed); !r.Clean() {
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
		if r := checkProducts(t, 9, c, seed); !r.Clean() {
			t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
		}
	}
}
