package race

import "testing"

// A thread takes the place of one that has ended, and only where that happened before: accesses of the earlier thread
// stay unordered with those of others who know nothing of it.
func TestThreadsSucceedOneAnother(t *testing.T) {
	d, m := New(), &Memory{}
	place := Place{Rank: 0, Launch: 1}
	stream, other := d.NewThread("stream", place, nil), d.NewThread("other", Place{Rank: 1, Launch: 2}, nil)
	first := d.NewThread("first", place, d.Now(stream))
	early := d.Now(stream)
	write := &Operation{Kind: Write, Bytes: 4, Site: 1}
	d.Access(first, m, write, []uint64{64}, 1)
	if d.Succeed(first, "second", place, early) != nil {
		t.Error("a thread succeeds one that runs")
	}
	end := d.Now(first)
	if d.Succeed(first, "second", place, early) != nil {
		t.Error("a thread succeeds one that has not ended before it")
	}
	d.After(stream, end)
	more := d.NewThread("more", place, early)
	d.After(stream, d.Now(more))
	d.Fence(more, &Operation{Kind: Fence, Scope: GPUScope, Release: true})
	if d.Succeed(more, "second", place, d.Now(stream)) != nil {
		t.Error("a thread succeeds one that has gone on")
	}
	second := d.Succeed(first, "second", place, d.Now(stream))
	if second == nil {
		t.Fatal("no thread succeeds one that has ended before it")
	}
	if second.number != first.number {
		t.Errorf("the thread has number %d and not %d of the one before it", second.number, first.number)
	}
	d.Access(second, m, &Operation{Kind: Read, Bytes: 4, Site: 2}, []uint64{64}, 1)
	if f := d.Findings(); len(f) > 0 {
		t.Errorf("races %v of threads that follow one another", f)
	}
	d.Access(other, m, &Operation{Kind: Read, Bytes: 4, Site: 3}, []uint64{64}, 1)
	d.Access(second, m, &Operation{Kind: Write, Bytes: 4, Site: 4}, []uint64{64}, 1)
	if n := len(d.Findings()); n != 2 {
		t.Errorf("%d races with a thread that knows neither of the two, want 2", n)
	}
	d.Join(other, first)
	third := &Operation{Kind: Write, Bytes: 4, Site: 5}
	d.Access(other, m, third, []uint64{64}, 1)
	if n := len(d.Findings()); n != 3 {
		t.Errorf("%d races when the end of the first thread is known alone, want 3", n)
	}
}
