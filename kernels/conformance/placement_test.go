package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
)

// Wherever clusters begin, each takes the tile that its placement says, and every tile is made once.
func TestPlacedTiles(t *testing.T) {
	const clusters = 3
	p := matmul.Problem{M: 2 * 140, N: 800, K: 72, DType: matmul.DTypes()[0]}
	names := []string{"allgather-matmul decomposed", "allgather-matmul fused", "matmul-reducescatter fused_copy", "matmul-allreduce fused_push"}
	for i, c := range namedCalls(names, p, 2) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			backend := sim.New(1, sim.Options{Major: 9, Seed: uint64(i % 2)})
			groupFor(2, backend, []matmulCall{c}).run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				r.SMs = 2 * clusters
				for _, i := range rand.New(rand.NewPCG(uint64(i), uint64(m.rank))).Perm(clusters) {
					r.Placement = append(r.Placement, uint8(i))
				}
				recording, err := record(m, r, c)
				if err != nil {
					return err
				}
				var first matmul.Placement // of the blocks that made the first round's tiles
				for cluster := range clusters {
					first = append(first, uint8(slices.IndexFunc(recording.Tiles, func(x matmul.TileTimes) bool { return x.Slices > 0 && x.Block == uint32(2*cluster) })/2))
				}
				if diff := cmp.Diff(r.Placement, first); diff != "" {
					return fmt.Errorf("the first tiles of clusters (-want +got)\n%s", diff)
				}
				return nil
			})
		})
	}
}

// A GPU has its clusters on several GPCs, and they are found.
func TestPlacementOnGPU(t *testing.T) {
	backend := requireGPU(t)
	switch infos, err := backend.Devices(); {
	case err != nil:
		t.Fatal(err)
	case infos[0].Major != 9:
		t.Skipf("%s is not of compute capability 9.0", infos[0].Name)
	}
	p := matmul.Problem{M: 4096, N: 4096, K: 64, DType: matmul.DTypes()[0]} // several rounds
	c := namedCalls([]string{"allgather-matmul decomposed"}, p, 1)[0]
	groupFor(1, backend, []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		if err := r.Prepare(c.algorithm, c.room(m.send, m.sharedRoom()).call); err != nil {
			return err
		}
		t.Log(r.Placement)
		for i, tile := range slices.Sorted(slices.Values(r.Placement)) {
			if int(tile) != i {
				return fmt.Errorf("no cluster takes tile %d: %v", i, r.Placement)
			}
		}
		if len(r.Placement) != r.SMs/2 || slices.IsSorted(r.Placement) {
			return fmt.Errorf("%d multiprocessors have clusters that are placed as %v", r.SMs, r.Placement)
		}
		return nil
	})
}
