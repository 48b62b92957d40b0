package race

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// desk is a detector with two warps and two streams, which access one memory.
type desk struct {
	*Detector
	memory Memory
	a, b   *Thread // warps
	s, u   *Thread // streams
	site   int
}

func newDesk() *desk {
	d := &desk{Detector: New()}
	d.a, d.b = d.NewThread("a", Place{Rank: 0, Launch: 1}, nil), d.NewThread("b", Place{Rank: 1, Launch: 2}, nil)
	d.s, d.u = d.NewThread("s", Place{Rank: 2}, nil), d.NewThread("u", Place{Rank: 3}, nil)
	return d
}

// warp is an access by all lanes, one behind the other.
func (d *desk) warp(t *Thread, op Operation, at uint64) {
	d.site++
	op.Site = d.site
	var addresses []uint64
	for i := range uint64(32) {
		addresses = append(addresses, at+i*op.Bytes)
	}
	d.AccessByLanes(t, &d.memory, &op, allLanes, addresses, 1)
}

// lane is an access by one lane.
func (d *desk) lane(t *Thread, lane int, op Operation, at uint64, elements int) {
	d.site++
	op.Site = d.site
	d.AccessByLanes(t, &d.memory, &op, 1<<lane, []uint64{at}, elements)
}

// all is an access to many bytes by a thread without lanes.
func (d *desk) all(t *Thread, op Operation, at uint64, elements int) {
	d.site++
	op.Site = d.site
	d.Access(t, &d.memory, &op, []uint64{at}, elements)
}

// cells says how many cells of how many bytes a page has.
func (d *desk) cells(number uint64) string {
	c := d.memory.chunks[number*pageBytes/chunkBytes]
	if c == nil || c.pages[number%(chunkBytes/pageBytes)] == nil {
		return "none"
	}
	p := c.pages[number%(chunkBytes/pageBytes)]
	return fmt.Sprintf("%dx%d", len(p.cells), p.grain)
}

func weak(kind Kind, bytes uint64) Operation { return Operation{Kind: kind, Bytes: bytes} }

func strong(kind Kind, bytes uint64) Operation {
	return Operation{Kind: kind, Bytes: bytes, Scope: SystemScope}
}

// A page has as few cells as tell all accesses apart: an access of a warp makes large ones, a smaller access splits
// them, and a write to all of it joins them again.
func TestCellsOfAPage(t *testing.T) {
	d := newDesk()
	for _, step := range []struct {
		name string
		do   func()
		want string // cells of the first page
	}{
		{"nothing", func() {}, "none"},
		{"a warp stores words to the first half", func() { d.warp(d.a, weak(Write, 4), 0) }, "2x128"},
		{"it loads them", func() { d.warp(d.a, weak(Read, 4), 0) }, "2x128"},
		{"a warp stores to the other half", func() { d.warp(d.a, weak(Write, 4), 128) }, "2x128"},
		{"a lane loads 16 bytes", func() { d.lane(d.a, 0, weak(Read, 16), 32, 1) }, "16x16"},
		{"a lane stores a byte", func() { d.lane(d.a, 0, weak(Write, 1), 33, 1) }, "256x1"},
		{"a warp stores to the first half again", func() { d.warp(d.a, weak(Write, 4), 0) }, "2x128"},
		{"a flag is stored there", func() { d.lane(d.a, 0, strong(Write, 4), 64, 1) }, "64x4"},
		{"a warp stores around it", func() { d.lane(d.a, 0, weak(Write, 16), 128, 4) }, "64x4"},
		{"a flag of 16 bytes is stored, which joins nothing", func() { d.lane(d.a, 0, strong(Write, 16), 64, 1) }, "64x4"},
		{"a stream fills the page", func() { d.all(d.s, weak(Write, 256), 0, 1) }, "1x256"},
		{"it reads a part that is no power of two", func() { d.all(d.s, weak(Read, 16), 0, 3) }, "16x16"},
		{"a flag of 16 bytes is polled", func() { d.all(d.s, strong(Read, 16), 16, 2) }, "16x16"},
		{"it writes that part", func() { d.all(d.s, weak(Write, 16), 0, 3) }, "16x16"},
		{"a copy reads the whole chunk", func() { d.all(d.s, weak(Read, 256), 0, 256) }, "16x16"},
		{"a fill writes the whole chunk", func() { d.all(d.s, weak(Write, 256), 0, 256) }, "none"},
	} {
		step.do()
		if got := d.cells(0); got != step.want {
			t.Errorf("%s: cells %s, want %s", step.name, got, step.want)
		}
	}
	if got := d.cells(1); got != "none" {
		t.Errorf("cells %s of a page that no access was for alone", got)
	}
}

// history is what the first cell of a page has: the last write, and the reads since then.
func (d *desk) history() string {
	c := &d.memory.chunks[0].pages[0].cells[0]
	var reads []string
	name := func(e *event) string { return fmt.Sprint(e.thread.Name, e.op.Site) }
	if c.read != nil {
		reads = append(reads, name(c.read))
	}
	if c.more != nil {
		for _, r := range c.more.reads {
			reads = append(reads, name(r))
		}
	}
	write := "-"
	if c.write != nil {
		write = name(c.write)
	}
	return write + ": " + strings.Join(reads, " ")
}

// The reads behind a write are one while they are of one thread, and become several with the second thread, of which
// each has its last one. The next write is compared with all of them and leaves none.
func TestReadsOfACell(t *testing.T) {
	d := newDesk()
	load, store := weak(Read, 4), weak(Write, 4)
	for i, step := range []struct {
		thread *Thread
		op     Operation
		want   string
	}{
		{d.s, store, "s1: "},
		{d.s, load, "s1: s2"},
		{d.s, load, "s1: s3"},
		{d.u, load, "s1: s3 u4"},
		{d.a, load, "s1: s3 u4 a5"},
		{d.u, load, "s1: s3 u6 a5"},
		{d.s, load, "s1: s7 u6 a5"},
		{d.b, strong(Read, 4), "s1: s7 u6 a5 b8"},
		{d.b, load, "s1: s7 u6 a5 b8 b9"}, // a weak read tells something else than a strong one
		{d.b, store, "b10: "},
		{d.a, load, "b10: a11"},
	} {
		d.all(step.thread, step.op, 0, 1)
		if got := d.history(); got != step.want {
			t.Errorf("step %d: %q, want %q", i+1, got, step.want)
		}
	}
	var raced []string
	for _, f := range d.Findings() {
		raced = append(raced, fmt.Sprint(f.First.Op.Site, "-", f.Second.Op.Site))
	}
	slices.Sort(raced)
	want := []string{"1-4", "1-5", "1-8", "1-9", "10-11", "5-10", "6-10", "7-10"}
	want = append(want, "1-10", "1-6") // each access is compared with the last write
	slices.Sort(want)
	if !slices.Equal(raced, want) {
		t.Errorf("races %q, want %q", raced, want)
	}
}

// A flag of 8 bytes stays one when its halves are read and written alone, and so do the reads in front of it.
func TestFlagIsSplit(t *testing.T) {
	publish := Operation{Kind: Write, Bytes: 8, Scope: SystemScope, Release: true}
	acquire := Operation{Kind: Read, Bytes: 8, Scope: SystemScope, Acquire: true}
	d := newDesk()
	d.all(d.a, weak(Write, 4), 512, 1)
	d.all(d.a, publish, 0, 1)
	d.Join(d.s, d.a)
	d.all(d.s, weak(Read, 4), 4, 1) // splits the cell
	d.all(d.b, acquire, 0, 1)
	d.all(d.b, weak(Read, 4), 512, 1)
	if f := d.Findings(); len(f) > 0 {
		t.Errorf("races %v of what the flag has released", f)
	}
	// The other half is overwritten, so that the flag is none any more.
	d = newDesk()
	d.all(d.a, weak(Write, 4), 512, 1)
	d.all(d.a, publish, 0, 1)
	d.Join(d.s, d.a)
	d.all(d.s, weak(Write, 8), 0, 1)
	d.Join(d.b, d.s)
	d.all(d.u, acquire, 0, 1)
	d.all(d.u, weak(Read, 4), 512, 1)
	if n := len(d.Findings()); n != 2 {
		t.Errorf("%d races, want two of a thread that has read what was written over the flag", n)
	}
}

// A flag of four cells keeps its message when a store elsewhere in the page joins cells.
func TestFlagIsNotJoined(t *testing.T) {
	d := newDesk()
	d.all(d.a, weak(Write, 4), 512, 1)
	d.all(d.a, weak(Read, 4), 0, 1)
	d.all(d.a, Operation{Kind: Write, Bytes: 16, Scope: SystemScope, Release: true}, 64, 1)
	d.all(d.a, weak(Write, 16), 0, 1)
	d.all(d.b, Operation{Kind: Read, Bytes: 16, Scope: SystemScope, Acquire: true}, 64, 1)
	d.all(d.b, weak(Read, 4), 512, 1)
	if f := d.Findings(); len(f) > 0 {
		t.Errorf("races %v of what the flag has released", f)
	}
}

// The halves of a cell that is split have lists of readers of their own.
func TestReadersAreSplit(t *testing.T) {
	d := newDesk()
	d.all(d.s, weak(Read, 8), 0, 1)
	d.all(d.u, weak(Read, 8), 0, 1)
	d.all(d.a, weak(Write, 4), 0, 1)
	d.all(d.b, weak(Write, 4), 4, 1)
	if n := len(d.Findings()); n != 4 {
		t.Errorf("%d races, want one of each writer with each reader", n)
	}
}

// A weak read in front of a flag that only a GPU sees is kept in both halves of it.
func TestAccessesInFrontOfAFlagAreSplit(t *testing.T) {
	for _, half := range []uint64{0, 4} {
		d := newDesk()
		d.all(d.u, weak(Read, 8), 0, 1)
		d.all(d.a, strong(Write, 8), 0, 1) // the first race
		d.Join(d.b, d.a)
		d.all(d.b, weak(Read, 4), 0, 1) // splits the cell
		d.all(d.b, weak(Write, 4), half, 1)
		var second []any
		for _, f := range d.Findings() {
			second = append(second, f.Second.Op.Site)
		}
		if !slices.Equal(second, []any{2, 4}) {
			t.Errorf("half %d: races at steps %v, want those of the flag and of the write", half, second)
		}
	}
}

// Lanes that have each stored a word have made one cell of them. A lane that loads all of them at once races with the
// others until they meet.
func TestLaneLoadsWhatOthersStored(t *testing.T) {
	d := newDesk()
	d.warp(d.a, weak(Write, 4), 0)
	d.lane(d.a, 0, weak(Read, 16), 0, 1)
	f := d.Findings()
	if len(f) != 1 || f[0].Cause != UnorderedLanes || f[0].Lanes != (Lanes{BetweenLanes, 1, 0}) {
		t.Errorf("races %+v, want one of lanes 1 and 0", f)
	}
	d.SyncWarp(d.a, allLanes, true)
	d.warp(d.a, weak(Write, 4), 0)
	d.SyncWarp(d.a, allLanes, false)
	d.lane(d.a, 0, weak(Read, 16), 0, 1)
	if f = d.Findings(); len(f) != 2 || !f[1].Hardware || f[1].Lanes != (Lanes{BetweenLanes, 1, 0}) {
		t.Errorf("races %+v, want a second one that hardware does not have", f)
	}
	// Lane 0 releases what the other lanes have not told it, and another thread loads all of it at once.
	d = newDesk()
	d.warp(d.a, weak(Write, 4), 0)
	d.lane(d.a, 0, Operation{Kind: Write, Bytes: 4, Scope: SystemScope, Release: true}, 512, 1)
	d.all(d.b, Operation{Kind: Read, Bytes: 4, Scope: SystemScope, Acquire: true}, 512, 1)
	d.all(d.b, weak(Read, 16), 0, 1)
	if f = d.Findings(); len(f) != 1 || f[0].Cause != UnorderedLanes || f[0].Lanes.Unsynced != BeforeRelease {
		t.Errorf("races %+v, want one for want of a bar.warp.sync before the release", f)
	}
}

// Memory that has ended is forgotten: what is allocated there has no accesses, and a read of it is one of what nobody
// wrote, element by element.
func TestEndedMemoryIsForgotten(t *testing.T) {
	d := newDesk()
	d.all(d.a, weak(Write, 4), 0, 1)
	d.Join(d.s, d.a)
	d.EndMemory(d.s, &d.memory, 0, pageBytes, &Operation{Kind: Write, Bytes: 1})
	var unwritten []uint64
	d.memory.Unwritten = func(_ *Thread, _ *Operation, addr uint64) { unwritten = append(unwritten, addr) }
	d.all(d.b, weak(Write, 4), 4, 1)
	d.all(d.b, weak(Read, 4), 0, 3)
	if f := d.Findings(); len(f) > 0 {
		t.Errorf("races %v with memory that has ended", f)
	}
	if want := []uint64{0, 8}; !slices.Equal(unwritten, want) {
		t.Errorf("nobody wrote %v, want %v", unwritten, want)
	}
}
