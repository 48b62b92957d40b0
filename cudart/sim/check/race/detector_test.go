package race

import "testing"

// Lanes of a warp that acquire while its other lanes wait at a barrier keep what they have learned.
func TestLanesLearnWhileOthersWait(t *testing.T) {
	d, m := New(), &Memory{}
	a, other := d.NewThread("a", Place{Rank: 0, Launch: 1}, nil), d.NewThread("b", Place{Rank: 0, Launch: 1}, nil)
	peer := d.NewThread("peer", Place{Rank: 1, Launch: 2}, nil)
	d.Access(peer, m, &Operation{Kind: Write, Bytes: 4, Site: 1}, []uint64{64}, 1)
	var b Barrier
	d.Arrive(&b, a)
	d.Join(a, peer)
	d.Arrive(&b, other)
	d.Release(&b, []*Thread{a, other})
	d.Access(a, m, &Operation{Kind: Read, Bytes: 4, Site: 2}, []uint64{64}, 1)
	if f := d.Findings(); len(f) > 0 {
		t.Errorf("races %v of a read that the join orders", f)
	}
	d.Access(other, m, &Operation{Kind: Read, Bytes: 4, Site: 3}, []uint64{64}, 1)
	if n := len(d.Findings()); n != 1 {
		t.Errorf("%d races of a warp that has learned nothing, want 1", n)
	}
}

// Elements of other sizes in the same page do not blur: neighbors of one byte are no race, an overlap of one is.
func TestNeighborsAreNoOverlap(t *testing.T) {
	d, m := New(), &Memory{}
	a, b := d.NewThread("a", Place{Rank: 0, Launch: 1}, nil), d.NewThread("b", Place{Rank: 1, Launch: 2}, nil)
	access := func(t *Thread, kind Kind, addr, bytes uint64) int {
		before := len(d.Findings())
		d.Access(t, m, &Operation{Kind: kind, Bytes: bytes, Site: addr}, []uint64{addr}, 1)
		return len(d.Findings()) - before
	}
	access(a, Write, 1024, 16)
	if n := access(b, Write, 1040, 1) + access(b, Read, 1023, 1); n != 0 {
		t.Errorf("%d races of neighbors", n)
	}
	if n := access(b, Read, 1039, 1); n != 1 {
		t.Errorf("%d races of the last byte, want 1", n)
	}
	if n := access(a, Write, 1040, 2); n != 1 {
		t.Errorf("%d races of two bytes with one of them, want 1", n)
	}
}
