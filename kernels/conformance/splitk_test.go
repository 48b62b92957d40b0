package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// split is a call whose last wave is shared, in so many pieces of pairs of tiles.
type split struct {
	world, sms, pieces int
	slices, rows, n    int64 // rows of each rank, but that the last has none where there is one in all
	calls              []string
	// unrecorded: the call is also verified without a recording, as the first of each algorithm is.
	unrecorded bool
}

// splits are shared in every way that there is. Local products have a number of columns that skinny.cu does not take.
func splits() []split {
	gather, scatter, all := "allgather-matmul ", "matmul-reducescatter ", "matmul-allreduce "
	return []split{
		{1, 4, 1, 40, 140, 92, []string{gather + "decomposed", gather + "fused"}, true}, // a tile, with one cluster
		// two tiles, with two of three clusters: one has nothing to do
		{1, 10, 2, 40, 140, 190, []string{gather + "decomposed", gather + "fused"}, false},
		{1, 8, 3, 72, 140, 100, []string{all + "fused_push"}, false},                        // with three
		{2, 6, 2, 64, 140, 100, []string{scatter + "fused_push", all + "fused_copy"}, true}, // two tiles, with one
		{2, 6, 0, 64, 140, 100, []string{gather + "fused"}, false},                          // which waits for a shard first
		// ten tiles on four: the last two, with two
		{2, 8, 2, 40, 140, 600, []string{gather + "fused"}, false},
		{2, 16, 6, 72, 1, 8, []string{scatter + "fused_push"}, false}, // two, with six
		// three, with two; the last has no rows
		{3, 10, 2, 72, 0, 100, []string{all + "fused_push", all + "fused_copy"}, false},
		{5, 6, 2, 72, 140, 100, []string{all + "fused_push"}, true}, // five on three: two, with one
	}
}

// Tiles of the last wave that are shared with idle clusters are complete and right, with and without disorder.
func TestSplitTiles(t *testing.T) {
	t.Parallel()
	all := splits()
	for _, i := range seeds(uint64(len(all)), 0, 1, 6) {
		c := all[i]
		p := matmul.Problem{M: c.rows * int64(c.world), N: c.n, K: 64*c.slices - 8, DType: matmul.DTypes()[i%2]}
		if c.rows == 0 {
			p.M = int64(c.world) + 1
		}
		for _, call := range namedCalls(c.calls, p, c.world) {
			t.Run(fmt.Sprint(call), func(t *testing.T) {
				t.Parallel()
				backend := sim.New(1, sim.Options{Major: 9, Seed: i % 2})
				groupFor(c.world, backend, []matmulCall{call}).run(t, func(m *member) error { return c.check(m, call) })
			})
		}
	}
}

// check makes the call, and checks the pieces if the call has few ranks.
func (c split) check(m *member, call matmulCall) error {
	r, err := newRunner(m)
	if err != nil {
		return err
	}
	r.SMs = c.sms
	for _, i := range rand.New(rand.NewPCG(1, uint64(m.rank))).Perm(c.sms / 2) {
		r.Placement = append(r.Placement, uint8(i))
	}
	if c.unrecorded {
		if err := call.run(m, r); err != nil || c.world > 3 { // a recording is of several calls, which take long
			return err
		}
	}
	recording, err := recordAlone(m, r, call)
	return errors.Join(err, checkPieces(recording, int(c.slices), c.pieces))
}

// A call with shared tiles ends when a rank is missing, and so do the calls after it: the cluster of a tile gets its
// pieces even after a time-out.
func TestSplitTilesWithAMissingRank(t *testing.T) {
	t.Parallel()
	const world = 2
	p := matmul.Problem{M: 140 * world, N: 100, K: 64 * 64, DType: matmul.DTypes()[0]}
	for _, c := range namedCalls([]string{"matmul-reducescatter fused_push", "matmul-allreduce fused_copy"}, p, world) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			runWithMissingRankOn(t, sim.New(1, sim.Options{Major: 9}), 6, c, collective.StartBarrier, collective.Products)
		})
	}
}

// Calls whose sums differ follow each other: the partial sums of one call are not taken for those of the next, and no
// partial sums are read before they have been stored.
func TestSplitTilesInDisorder(t *testing.T) {
	t.Parallel()
	p := matmul.Problem{M: 140, N: 100, K: 48 * 64, DType: matmul.DTypes()[0]}
	for _, seed := range seeds(4, 3) {
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

// namedCalls are calls of the named operations and algorithms.
func namedCalls(names []string, p matmul.Problem, world int) (all []matmulCall) {
	for _, o := range matmul.Operations() {
		for _, a := range o.Algorithms {
			if slices.Contains(names, o.Name+" "+a.Name) {
				all = append(all, matmulCall{
					operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Random, 1),
				})
			}
		}
	}
	return all
}

// checkPieces checks that all slices of every tile are multiplied once, and the number of pieces of pairs of tiles with
// rows.
func checkPieces(recording matmul.Recording, slicesOfTile, pieces int) error {
	of, pairs := map[[2]uint32]int{}, 0
	for i, x := range recording.Tiles {
		if x == (matmul.TileTimes{}) {
			continue
		}
		at := [2]uint32{x.Row, x.Column}
		if _, again := of[at]; again && i%2 == 0 { // the upper tile of a pair has rows if any has
			pairs++
		}
		of[at] += int(x.Slices)

	}
	for at, n := range of {
		if n != slicesOfTile {
			return fmt.Errorf("%d slices of %d are multiplied of the tile at %v", n, slicesOfTile, at)
		}
	}
	if pairs != pieces {
		return fmt.Errorf("there are %d pieces, and should be %d", pairs, pieces)
	}
	return nil
}
