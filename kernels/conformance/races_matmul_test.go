package conformance

import (
	"errors"
	"fmt"
	"strings"
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

// The fused products have no race, and everything is checked: their copies in bulk, mbarriers, tensors and wgmma on
// compute capability 9.0, their small copies and ldmatrix on 8.0.
func TestFusedProductsHaveNoRace(t *testing.T) {
	t.Parallel()
	const world = 2
	for _, major := range []int{8, 9} {
		p := matmul.Problem{M: 9 * world, N: 40, K: 72, DType: collective.Half}
		for _, c := range fusedKinds(p, world) {
			t.Run(fmt.Sprintf("%s %s on %d.0", c.operation.Name, c.algorithm.Name, major), func(t *testing.T) {
				checker, err := check.New(check.Config{Ranks: world, Major: major, SMs: 2})
				if err != nil {
					t.Fatal(err)
				}
				calls := []matmulCall{c, c}
				g := groupFor(world, nil, calls)
				for _, seed := range seeds(4, 0) {
					var q sharedQuantities
					r, err := checker.Run(seed, func(r *check.Rank) error {
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
					if err != nil || !r.Clean() {
						t.Errorf("seed %d: error %v, %v, incomplete %q", seed, err, r.Findings, strings.Join(r.Incomplete, "; "))
					}
				}
			})
		}
	}
}
