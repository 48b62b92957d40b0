package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// shardItem is a tile of a rank's shard, by its column, or a chunk of a rank's products.
type shardItem struct{ Rank, Index int }

// ordered is a call of a few rows and many columns, on few multiprocessors, whose shards are one row of tiles each.
type ordered struct {
	matmulCall
	major, sms          int
	tiles               int // of a shard
	segment             int // of these, or a chunk
	interleaved, copied bool
}

func (c ordered) String() string {
	return fmt.Sprintf("%s on %d.0 with %d multiprocessors", c.matmulCall, c.major, c.sms)
}

// orderedCalls have segments of as many tiles as the multiprocessors need, or chunks.
func orderedCalls(world int, rows int64) (all []ordered) {
	for _, o := range matmul.Operations() {
		for _, x := range []struct {
			name                       string
			major, sms, tiles, segment int
			width                      int64
			least, most                int // ranks; one rank copies nothing, so that chunks do not matter
		}{
			{"fused_push", 8, 4, 7, (4 + world - 1) / world, 128, 1, 4},  // blocks for as many tiles of each shard
			{"fused_push", 9, 10, 5, (5 + world - 1) / world, 224, 1, 4}, // clusters
			{"fused_push", 9, 64, 3, 3, 128, 1, 4},                       // for all at once
			{"fused_copy", 8, 4, 121, 41, 128, 2, 2},                     // three chunks
			{"fused_copy", 9, 8, 32, 11, 256, 2, 2},
			{"fused_copy", 9, 10, 5, 5, 224, 1, 4}, // one chunk
		} {
			p := matmul.Problem{M: rows, N: x.width * int64(x.tiles), K: 8, DType: collective.Half}
			if !o.Reduces || o.Check(p, world) != nil || world < x.least || world > x.most {
				continue
			}
			a, _ := o.Algorithm(x.name)
			call := matmulCall{
				operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Exact, uint64(len(all))),
			}
			all = append(all, ordered{
				call, x.major, x.sms, x.tiles, x.segment, !o.Scatters && x.name == "fused_push", x.name == "fused_copy",
			})
		}
	}
	return all
}

// wantTiles are the tiles that a rank makes: those of the ranks after it, then its own. If sums go everywhere and
// products are pushed, it makes a segment of each shard in turn, its own a segment later.
func (c ordered) wantTiles(rank int) (all []shardItem) {
	world, segment := c.in.World, c.tiles
	if c.interleaved {
		segment = c.segment
	}
	add := func(owner, begin int) {
		if int64(owner)*((c.problem.M+int64(world)-1)/int64(world)) >= c.problem.M {
			return // it has no rows
		}
		for i := max(begin, 0); i < min(begin+segment, c.tiles); i++ {
			column := i
			if owner%2 == 1 { // back, after the shard before
				column = c.tiles - 1 - i
			}
			all = append(all, shardItem{owner, column})
		}
	}
	if segment >= c.tiles { // nothing is later
		for k := 1; k <= world; k++ {
			add((rank+k)%world, 0)
		}
		return all
	}
	for begin := 0; begin < c.tiles+segment; begin += segment {
		for k := 1; k < world; k++ {
			add((rank+k)%world, begin)
		}
		add(rank, begin-segment)
	}
	return all
}

// wantCopies are the chunks that a rank copies: all of each peer, those of the previous rank first.
func (c ordered) wantCopies(rank int) (all []shardItem) {
	if !c.copied {
		return nil
	}
	world, chunks := c.in.World, (c.tiles+c.segment-1)/c.segment
	for i := range chunks * (world - 1) {
		all = append(all, shardItem{(rank + world - 1 - i/chunks) % world, i % chunks})
	}
	return all
}

// tilesOf are the recorded tiles, by their numbers.
func (c ordered) tilesOf(recording matmul.Recording) (all []shardItem) {
	world := int64(c.in.World)
	width := c.problem.N / int64(c.tiles)
	for _, x := range recording.Tiles {
		if x != (matmul.TileTimes{}) {
			all = append(all, shardItem{int(int64(x.Row) / ((c.problem.M + world - 1) / world)), int(int64(x.Column) / width)})
		}
	}
	return all
}

// Tiles are made, and copied, in the order in which their owners need them: those of other ranks before its own. If
// sums go everywhere by stores, shards alternate, so that sums do not all come at the end. Some shards have no rows,
// and some last segments have fewer tiles.
func TestOrderOfTiles(t *testing.T) {
	t.Parallel()
	for _, shape := range []struct {
		world int
		rows  int64
		some  []int // calls that run if not all do: pushed and copied, in segments, in chunks and at once
	}{
		{1, 2, nil},
		{2, 2, []int{1, 4, 6}},
		{3, 3, nil},
		{3, 4, []int{3}},
		{4, 8, nil},
	} {
		for i, c := range orderedCalls(shape.world, shape.rows) {
			if !inShard(i) && !slices.Contains(shape.some, i) {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				backend := sim.New(1, sim.Options{Major: c.major, Seed: uint64(i)})
				groupFor(shape.world, backend, []matmulCall{c.matmulCall}).run(t, c.check)
			})
		}
	}
}

func (c ordered) check(m *member) error {
	r, err := newRunner(m)
	if err != nil {
		return err
	}
	r.SMs = c.sms
	recording, err := recordAlone(m, r, c.matmulCall)
	if err != nil {
		return err
	}
	var copies []shardItem
	for _, x := range recording.Copies {
		copies = append(copies, shardItem{x.From, x.Chunk})
	}
	if diff := cmp.Diff(c.wantTiles(m.rank), c.tilesOf(recording)); diff != "" {
		return fmt.Errorf("tiles (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(c.wantCopies(m.rank), copies); diff != "" {
		return fmt.Errorf("copies (-want +got)\n%s", diff)
	}
	return nil
}

// A group of rows of tiles is taken column by column, and the next group from the last column back.
func TestTilesReverseColumns(t *testing.T) {
	t.Parallel()
	const rows, columns, group = 9, 2, 8
	p := matmul.Problem{M: rows * 256, N: columns * 256, K: 8, DType: collective.Half}
	var want []shardItem
	for column := range columns {
		for row := range group {
			want = append(want, shardItem{row, column})
		}
	}
	want = append(want, shardItem{group, 1}, shardItem{group, 0})
	checkLocalTiles(t, p, 256, 256, want)
}

// A last row of tiles that would be alone is taken in pairs side by side, after all others. The last pair may have one.
func TestPairsSideBySide(t *testing.T) {
	t.Parallel()
	const width, columns = 176, 11
	var want []shardItem
	for column := range columns {
		want = append(want, shardItem{0, column}, shardItem{1, column})
	}
	for column := range columns {
		want = append(want, shardItem{2, column})
	}
	const n = columns*width - 4 // which no transposed product has
	checkLocalTiles(t, matmul.Problem{M: 257, N: n, K: 8, DType: collective.Half}, 128, width, want)
}

// A transposed product goes along C first, and its last columns are taken in pairs, one below the other.
func TestTransposedTiles(t *testing.T) {
	t.Parallel()
	const height, down, width, across = 208, 2, 128, 9
	var want []shardItem
	for row := range down {
		for column := range across - 1 {
			want = append(want, shardItem{row, column})
		}
	}
	want = append(want, shardItem{0, across - 1}, shardItem{1, across - 1})
	checkLocalTiles(t, matmul.Problem{M: 400, N: 1032, K: 8, DType: collective.Half}, height, width, want)
}

// checkLocalTiles multiplies on two multiprocessors, a cluster, that takes pairs of tiles one after the other, and
// compares the tiles of so many rows that it makes, by their rows and columns.
func checkLocalTiles(t *testing.T, p matmul.Problem, height, width uint32, want []shardItem) {
	t.Helper()
	c := namedCalls([]string{"allgather-matmul decomposed"}, p, 1)[0]
	groupFor(1, sim.New(1, sim.Options{Major: 9}), []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		r.SMs = 2
		recording, err := recordAlone(m, r, c)
		if err != nil {
			return err
		}
		var got []shardItem
		for _, x := range recording.Tiles {
			if x.Slices > 0 && x.Row%height == 0 {
				got = append(got, shardItem{int(x.Row / height), int(x.Column / width)})
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("tiles (-want +got)\n%s", diff)
		}
		return nil
	})
}
