package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// Every tile and every chunk is recorded once, after the barrier, and a recorded call has the same result. Algorithms
// that record no times are refused.
func TestRecord(t *testing.T) {
	t.Parallel()
	for _, major := range inTurn([]int{8, 9}, 1) {
		g := group{world: 2, bytes: 1 << 20, backend: sim.New(1, sim.Options{Major: major})}
		g.run(t, everyRecording)
	}
}

func everyRecording(m *member) error {
	r, err := newRunner(m)
	if err != nil {
		return err
	}
	// By tiles of 224 columns, not 128, and not transposed.
	shape := matmul.Problem{M: 300, N: 444, K: 8, DType: collective.Half}
	if m.comm.SM() < 90 {
		shape.N = 136 // two columns of tiles, the second one partial, as above
	}
	for _, o := range matmul.Operations() {
		for _, a := range o.Algorithms {
			c := matmulCall{
				operation: o, algorithm: a, problem: shape, splits: 2, in: product(o, shape, m.world, reference.Exact, 7),
			}
			if a.Library != "" {
				if _, err := r.Record(context.Background(), a, matmul.Call{Problem: shape}); err == nil {
					return fmt.Errorf("%s is recorded", c)
				}
				continue
			}
			recording, err := record(m, r, c)
			if err := errors.Join(err, checkTiles(recording, shape), checkCopies(recording, m, c)); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			m.meet()
		}
	}
	return nil
}

// record records a call, in an exhaustive run after one that is not recorded. All results are verified.
func record(m *member, r *matmul.Runner, c matmulCall) (matmul.Recording, error) {
	if exhaustive() {
		if err := c.run(m, r); err != nil {
			return matmul.Recording{}, err
		}
	}
	return recordAlone(m, r, c)
}

// recordAlone records a call, and verifies the result of the recorded call only.
func recordAlone(m *member, r *matmul.Runner, c matmulCall) (recording matmul.Recording, err error) {
	layout := c.layout(m.recv, m.sharedLayout())
	if err := errors.Join(c.prepare(m, layout), r.Prepare(c.algorithm, layout.call)); err != nil {
		return recording, err
	}
	m.meet()
	if recording, err = r.Record(context.Background(), c.algorithm, layout.call); err != nil {
		return recording, err
	}
	return recording, c.judge(m, layout)
}

// checkTiles checks that the tiles cover the product of a rank, each once: there are as many tiles as different rows
// times different columns, and none is far from the next. Numbers may be unused.
func checkTiles(recording matmul.Recording, p matmul.Problem) error {
	tiles, rows, columns := map[[2]uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for i, x := range recording.Tiles {
		if x == (matmul.TileTimes{}) {
			continue
		}
		at := [2]uint32{x.Row, x.Column}
		switch {
		case tiles[at]:
			return fmt.Errorf("tile %d at %v is there twice", i, at)
		case int64(x.Row) >= p.M || int64(x.Column) >= p.N:
			return fmt.Errorf("tile %d at %v is beyond the product", i, at)
		case recording.Start == 0 || x.Wait < recording.Start || x.Begin < x.Wait || x.End < x.Begin:
			return fmt.Errorf("the ranks met at %d, and tile %d is %+v", recording.Start, i, x)
		}
		tiles[at], rows[x.Row], columns[x.Column] = true, true, true
	}
	// No GEMM has larger tiles than 128 x 256.
	if len(tiles) != len(rows)*len(columns) || gap(rows, p.M) > 128 || gap(columns, p.N) > 256 {
		return fmt.Errorf("tiles at %v", slices.Collect(maps.Keys(tiles)))
	}
	return nil
}

// gap is the longest distance from 0, or from the begin of a tile, to the begin of the next one or to the end.
func gap(begins map[uint32]bool, end int64) (longest int64) {
	at := int64(0)
	for _, next := range append(slices.Sorted(maps.Keys(begins)), uint32(end)) {
		longest, at = max(longest, int64(next)-at), int64(next)
	}
	return longest
}

// checkCopies checks the chunks of an algorithm that copies them: the peer's rows in order, and the local rows unless
// the kernel copies them; or the peer's products for this rank, which fit into one chunk.
func checkCopies(recording matmul.Recording, m *member, c matmulCall) error {
	var want []matmul.CopyTimes
	peer := 1 - m.rank
	switch shard := c.problem.M / int64(m.world) * c.problem.K * 2; {
	case c.algorithm.Chunked:
		want = []matmul.CopyTimes{
			{Shard: peer, From: peer, Chunk: 0, Bytes: shard / 2},
			{Shard: peer, From: peer, Chunk: 1, Bytes: shard / 2},
		}
		if m.comm.SM() < 90 {
			want = append(want, matmul.CopyTimes{Shard: m.rank, From: m.rank, Bytes: shard})
		}
	case c.algorithm.Name == "fused_copy", c.algorithm.Name == "fused" && len(recording.Copies) > 0: // as suits
		want = []matmul.CopyTimes{{Shard: m.rank, From: peer}}
	}
	before := map[bool]uint64{false: recording.Start, true: recording.Start} // of the own rows, and others
	var got []matmul.CopyTimes
	for _, x := range recording.Copies {
		own := x.From == m.rank
		if x.Begin < before[own] || x.End < x.Begin {
			return fmt.Errorf("before is %d, and a copy %+v", before[own], x)
		}
		before[own] = x.End
		x.Begin, x.End = 0, 0
		if x.From != x.Shard && x.Bytes >= c.problem.M/int64(m.world)*c.problem.N*2 {
			x.Bytes = 0 // whole tiles, whose size is the kernel's affair
		}
		got = append(got, x)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(diff)
	}
	return nil
}
