package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
	"gpurun/kernels/matmul/schedule"
)

// Each cluster takes the first tile of its placement, and every tile is made once, for any placement.
func TestPlacedTiles(t *testing.T) {
	t.Parallel()
	const clusters = 3
	p := matmul.Problem{M: 2 * 140, N: 800, K: 8, DType: matmul.DTypes()[0]}
	names := []string{
		"allgather-matmul decomposed", "allgather-matmul fused", "matmul-reducescatter fused_copy",
		"matmul-allreduce fused_push",
	}
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
				recording, err := recordAlone(m, r, c)
				if err != nil {
					return err
				}
				var first schedule.Placement // of the blocks that made the first round's tiles
				for cluster := range uint32(clusters) {
					tile := slices.IndexFunc(recording.Tiles,
						func(x matmul.TileTimes) bool { return x.Slices > 0 && x.Block == 2*cluster })
					if tile < 0 {
						return fmt.Errorf("cluster %d has made no tile", cluster)
					}
					first = append(first, uint8(tile/2))
				}
				if diff := cmp.Diff(r.Placement, first); diff != "" {
					return fmt.Errorf("the first tiles of clusters (-want +got)\n%s", diff)
				}
				return nil
			})
		})
	}
}

// GPCs finds that a GPU has several GPCs.
func TestGPCsOnGPU(t *testing.T) {
	backend := requireGPU(t)
	switch infos, err := backend.Devices(); {
	case err != nil:
		t.Fatal(err)
	case infos[0].Major != 9:
		t.Skipf("%s is not of compute capability 9.0", infos[0].Name)
	}
	c := namedCalls([]string{"allgather-matmul decomposed"}, matmul.Problem{M: 8, N: 8, K: 8, DType: matmul.DTypes()[0]},
		1)[0]
	groupFor(1, backend, []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		gpcs, err := r.GPCs()
		if err != nil {
			return err
		}
		t.Log(gpcs)
		const most = 9 // pairs of multiprocessors of one
		for i, cluster := range slices.Sorted(slices.Values(slices.Concat(gpcs...))) {
			if cluster != i {
				return fmt.Errorf("cluster %d is on no GPC, or on two: %v", i, gpcs)
			}
		}
		if n := len(slices.Concat(gpcs...)); n != r.SMs/2 ||
			!slices.ContainsFunc(gpcs, func(on []int) bool { return len(on) > most/2 }) {
			return fmt.Errorf("%d clusters of %d multiprocessors are on the GPCs %v", n, r.SMs, gpcs)
		}
		if slices.ContainsFunc(gpcs, func(on []int) bool { return len(on) > most }) {
			return fmt.Errorf("a GPC has more than %d clusters: %v", most, gpcs)
		}
		return nil
	})
}

// GPCs finds that a simulated device is one GPC.
func TestGPCsOfSimulator(t *testing.T) {
	c := namedCalls([]string{"allgather-matmul decomposed"}, matmul.Problem{M: 8, N: 8, K: 8, DType: matmul.DTypes()[0]},
		1)[0]
	groupFor(1, sim.New(1, sim.Options{Major: 9}), []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		r.SMs = 4
		gpcs, err := r.GPCs()
		if diff := cmp.Diff([][]int{{0, 1}}, gpcs); diff != "" {
			return errors.Join(err, fmt.Errorf("GPCs (-want +got)\n%s", diff))
		}
		return err
	})
}
