package conformance

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// Tiles of the last round that are shared with clusters that have none are right, and whole, with and without disorder.
func TestSplitTiles(t *testing.T) {
	for i, c := range []struct {
		world, sms, pieces int
		slices, n          int64
		calls              []string
	}{
		{1, 4, 1, 40, 100, []string{"allgather-matmul decomposed", "allgather-matmul fused"}},          // a tile, with one cluster
		{1, 8, 3, 72, 100, []string{"matmul-allreduce fused_push"}},                                    // with three
		{2, 6, 2, 64, 100, []string{"matmul-reducescatter fused_push", "matmul-allreduce fused_copy"}}, // two tiles, with one
		{2, 6, 0, 64, 100, []string{"allgather-matmul fused"}},                                         // which waits for a shard first
		{2, 8, 2, 40, 600, []string{"allgather-matmul fused"}},                                         // ten tiles on four: the last two, with two
		{5, 6, 2, 72, 100, []string{"matmul-allreduce fused_push"}},                                    // five tiles on three: the last two, with one, of the second less
	} {
		p := matmul.Problem{M: 140 * int64(c.world), N: c.n, K: 64*c.slices - 8, DType: matmul.DTypes()[i%2]}
		for _, call := range namedCalls(c.calls, p, c.world) {
			t.Run(fmt.Sprint(call), func(t *testing.T) {
				t.Parallel()
				backend := sim.New(1, sim.Options{Major: 9})
				groupFor(c.world, backend, []matmulCall{call}).run(t, func(m *member) error {
					r, err := newRunner(m)
					if err != nil {
						return err
					}
					r.SMs = c.sms
					if c.world > 2 { // four calls more would take long
						return call.run(m, r)
					}
					recording, err := record(m, r, call)
					return errors.Join(err, checkPieces(recording, int(c.slices), 2*c.pieces))
				})
			})
		}
	}
}

// So they are where calls follow each other whose sums differ: what was left of one is not taken for the next one's, nor
// before it is there.
func TestSplitTilesInDisorder(t *testing.T) {
	p := matmul.Problem{M: 140, N: 100, K: 40 * 64, DType: matmul.DTypes()[0]}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var calls []matmulCall
			for i := range uint64(4) {
				c := namedCalls([]string{"allgather-matmul decomposed"}, p, 1)[0]
				c.in.Seed = 4*seed + i
				calls = append(calls, c)
			}
			groupFor(1, sim.New(1, sim.Options{Major: 9, Seed: seed + 1}), calls).run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				r.SMs = 4
				return runMatmuls(m, r, calls)
			})
		})
	}
}

// namedCalls are those of operations and algorithms.
func namedCalls(names []string, p matmul.Problem, world int) (all []matmulCall) {
	for _, o := range matmul.Operations() {
		for _, a := range o.Algorithms {
			if slices.Contains(names, o.Name+" "+a.Name) {
				all = append(all, matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Random, 1)})
			}
		}
	}
	return all
}

// checkPieces wants all slices of every tile to be multiplied once, and so many pieces of blocks.
func checkPieces(recording matmul.Recording, slicesOfTile, pieces int) error {
	of, records := map[[2]uint32]int{}, 0
	for _, x := range recording.Tiles {
		if x != (matmul.TileTimes{}) {
			of[[2]uint32{x.Row, x.Column}] += int(x.Slices)
			records++
		}
	}
	for at, n := range of {
		if n != slicesOfTile {
			return fmt.Errorf("%d slices of %d are multiplied of the tile at %v", n, slicesOfTile, at)
		}
	}
	if got := records - len(of); got != pieces {
		return fmt.Errorf("there are %d pieces, and should be %d", got, pieces)
	}
	return nil
}
