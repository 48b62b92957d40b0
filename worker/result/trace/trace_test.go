package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/worker/golden"
)

// example is two ranks whose clocks are far apart, which both wait for the other's rows.
func example() Timeline {
	rank := func(r int, met int64) Rank {
		peer := 1 - r
		return Rank{
			Rank: r, Device: "NVIDIA H200", Met: met,
			Tiles: []Tile{
				{
					Number: 2, Block: 0, Row: int64(peer) * 128, Column: 0, Shard: peer, Wait: met + 5000, Begin: met + 7125,
					End: met + 9000,
				},
				{
					Number: 0, Block: 0, Row: int64(r) * 128, Column: 0, Shard: r, Wait: met + 1000, Begin: met + 1000,
					End: met + 5000,
				},
				{
					Number: 1, Block: 1, Row: int64(r) * 128, Column: 256, Shard: r, Slices: 12, Wait: met + 1000, Begin: met + 1032,
					End: met + 5064,
				},
			},
			Copies: []Copy{
				{Shard: peer, From: peer, Chunk: 0, Bytes: 1 << 20, Begin: met + 500, End: met + 3500},
				{Shard: peer, From: peer, Chunk: 1, Bytes: 1 << 19, Begin: met + 3500, End: met + 7001},
				{Shard: r, From: r, Chunk: 0, Bytes: 3 << 19, Begin: met + 400, End: met + 8000},
			},
		}
	}
	return Timeline{
		Title: "allgather-matmul fused, 256 x 512 x 64 bfloat16", Ranks: []Rank{rank(0, 1763737000000000001), rank(1, 42)},
	}
}

func TestWrite(t *testing.T) {
	var got bytes.Buffer
	if err := Write(&got, example()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "two.json", got.Bytes())
}

func TestWhatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*Rank)
		want  string
	}{
		"no barrier": {func(r *Rank) { r.Met = 0 }, "rank 1 did not report when it left the barrier"},
		"tile ends early": {
			func(r *Rank) { r.Tiles[0].End = 1 }, "on rank 1, tile 2 waits from 5042 ns, begins at 7167 and ends at 1",
		},
		"tile waits late":  {func(r *Rank) { r.Tiles[0].Wait = 8000 }, "tile 2 waits from 8000 ns"},
		"copy ends before": {func(r *Rank) { r.Copies[1].End = 9 }, "chunk 1 from rank 0 begins at 3542 ns and ends at 9"},
	} {
		timeline := example()
		tt.spoil(&timeline.Ranks[1])
		var out bytes.Buffer
		if err := Write(&out, timeline); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	if err := Write(full{}, example()); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

// A tile that a block begins during the previous tile is drawn from the end of the previous tile on:
// slices of one thread must not overlap.
func TestOverlappingTiles(t *testing.T) {
	r := Rank{Met: 1, Tiles: []Tile{
		{Number: 0, Wait: 1001, Begin: 2001, End: 6001},
		{Number: 1, Wait: 3001, Begin: 8001, End: 9001},
		{Number: 2, Wait: 8501, Begin: 8601, End: 10001},
	}}
	var got []slice
	for _, s := range written(t, r) {
		got = append(got, slice{Name: s.Name, Start: s.Start, Duration: s.Duration})
	}
	want := []slice{
		{Name: "wait", Start: 1, Duration: 1},
		{Name: "shard 0", Start: 2, Duration: 4},
		{Name: "wait", Start: 6, Duration: 2},
		{Name: "shard 0", Start: 8, Duration: 1},
		{Name: "shard 0", Start: 9, Duration: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// written are the slices in the file of one rank; their times are microseconds.
func written(t rapid.TB, r Rank) (slices []slice) {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, Timeline{Ranks: []Rank{r}}); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []json.RawMessage `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, text := range file.TraceEvents {
		var kind struct{ Ph string }
		var s slice
		if err := json.Unmarshal(text, &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Ph != "X" {
			continue
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		slices = append(slices, s)
	}
	return slices
}

// Whatever was recorded, the file is JSON with a slice for each tile and copy.
func TestEverySliceIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const us = 1000
		span := func() (begin, end int64) {
			begin = 1 + us*rapid.Int64Range(0, 1<<40).Draw(t, "begin")
			return begin, begin + us*rapid.Int64Range(0, 1<<30).Draw(t, "length")
		}
		r := Rank{Met: 1, Device: rapid.String().Draw(t, "device")}
		for n := range rapid.IntRange(0, 20).Draw(t, "tiles") {
			begin, end := span()
			r.Tiles = append(r.Tiles, Tile{
				Number: n, Block: rapid.IntRange(0, 3).Draw(t, "block"), Wait: begin, Begin: begin, End: end,
			})
		}
		for n := range rapid.IntRange(0, 5).Draw(t, "copies") {
			begin, end := span()
			r.Copies = append(r.Copies, Copy{Chunk: n, Begin: begin, End: end})
		}
		ends := map[int]micros{}
		count := map[string]int{}
		for _, s := range written(t, r) {
			count[s.Category]++
			if s.Category == "copy" {
				continue
			}
			if s.Start < ends[s.Thread] {
				t.Errorf("a slice of thread %d begins at %d, within the one before", s.Thread, s.Start)
			}
			ends[s.Thread] = s.Start + s.Duration
		}
		if count["tile"] != len(r.Tiles) || count["copy"] != len(r.Copies) {
			t.Errorf("%v of %d tiles and %d copies", count, len(r.Tiles), len(r.Copies))
		}
	})
}

// A slice of products names the rank that they come from, and not a shard.
func TestCopiesOfProducts(t *testing.T) {
	timeline := example()
	timeline.Ranks[0].Copies[0].Shard = 0
	var out bytes.Buffer
	if err := Write(&out, timeline); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"products of rank 1","cat":"copy","ph":"X","pid":0,"tid":0,"ts":0.5,`
	if !strings.Contains(out.String(), want) {
		t.Errorf("no %s in %s", want, out.String())
	}
}
