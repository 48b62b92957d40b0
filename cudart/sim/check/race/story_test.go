package race

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A story is a line for each step of a thread. Threads have names such as 0.1: rank 0, block 1. A name with a letter
// behind it is another warp of the block. Words of one letter are places in memory, of 4 bytes each.
//
//	0.0 writes x            a weak write; "reads x" likewise
//	0.0 release.gpu f       a releasing write
//	0.0 relaxed.gpu f       a relaxed write
//	0.0 acquire.gpu f       an acquiring read
//	0.0 polls.gpu f         a relaxed read
//	0.0 adds.gpu f          a relaxed atomic operation; adds.acq_rel.gpu is an acquiring and releasing one
//	0.0 fence.gpu           a fence that acquires and releases
//	0.0 0.0b bar            the block's barrier of these threads; 0.0+ arrives and does not wait
type teller struct {
	d       *Detector
	memory  Memory
	threads map[string]*Thread
}

func (s *teller) thread(name string) *Thread {
	if t := s.threads[name]; t != nil {
		return t
	}
	var at Place
	if _, err := fmt.Sscanf(name, "%d.%d", &at.Rank, &at.Block); err != nil {
		panic(name)
	}
	at.Launch = 1 + at.Rank
	s.threads[name] = s.d.NewThread(name, at, nil)
	return s.threads[name]
}

// operations are the words of a story without their scope.
var operations = map[string]Operation{
	"writes": {Kind: Write}, "reads": {Kind: Read}, "wide": {Kind: Write},
	"release": {Kind: Write, Release: true}, "relaxed": {Kind: Write}, "acquire": {Kind: Read, Acquire: true},
	"polls": {Kind: Read}, "adds": {Kind: Update}, "adds.acq_rel": {Kind: Update, Acquire: true, Release: true},
	"fence": {Kind: Fence, Acquire: true, Release: true},
}

func (s *teller) tell(number int, step string) {
	words := strings.Fields(step)
	if words[len(words)-1] == "bar" {
		var all []*Thread
		var b Barrier
		for _, name := range words[:len(words)-1] {
			name, arrives := strings.CutSuffix(name, "+")
			s.d.Arrive(&b, s.thread(name))
			if !arrives {
				all = append(all, s.thread(name))
			}
		}
		s.d.Release(&b, all)
		return
	}
	what, scope := words[1], NoScope
	for i, name := range scopeNames {
		if before, ok := strings.CutSuffix(what, "."+name); ok {
			what, scope = before, Scope(i)
		}
	}
	op, ok := operations[what]
	if !ok {
		panic(step)
	}
	op.Scope, op.Bytes, op.Site = scope, 4, number
	if op.Kind == Fence {
		s.d.Fence(s.thread(words[0]), &op)
		return
	}
	address := uint64(words[2][0]) * 8
	if what == "wide" {
		op.Bytes = 8
	}
	s.d.Access(s.thread(words[0]), &s.memory, &op, []uint64{address}, 1)
}

// races tells a story and returns the races, by the numbers of the two steps.
func races(story string) []string {
	s := &teller{d: New(), threads: map[string]*Thread{}}
	for i, step := range strings.Split(strings.TrimSpace(story), "\n") {
		s.tell(i+1, step)
	}
	var all []string
	for _, f := range s.d.Findings() {
		text := fmt.Sprintf("%v-%v %s", f.First.Op.Site, f.Second.Op.Site, f.Cause)
		if f.Flag != nil {
			text += fmt.Sprintf(" by %v-%v", f.Flag.Release.Op.Site, f.Flag.Acquire.Op.Site)
		}
		all = append(all, text)
	}
	return all
}

func TestStories(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"two blocks of a GPU need its scope alone": {`
			0.0 writes x
			0.0 release.gpu f
			0.1 acquire.gpu f
			0.1 reads x`, nil},
		"and the scope of a block is too narrow for two blocks": {
			`
			0.0 writes x
			0.0 release.cta f
			0.1 acquire.gpu f
			0.1 reads x`,
			[]string{"2-3 a scope is too narrow", "1-4 a scope is too narrow by 2-3"},
		},
		"but not for two warps of a block": {`
			0.0 writes x
			0.0 release.cta f
			0.0b acquire.cta f
			0.0b reads x`, nil},
		"a third thread learns from the second what the first has written": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 release.sys g
			2.0 acquire.sys g
			2.0 reads x`, nil},
		"an order at GPU scope is carried on to another GPU": {`
			0.0 writes x
			0.0 release.gpu f
			0.1 acquire.gpu f
			0.1 release.sys g
			1.0 acquire.sys g
			1.0 reads x`, nil},
		"a barrier passes on what one warp has acquired": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 1.0b bar
			1.0b reads x`, nil},
		"and without the barrier the other warp has acquired nothing": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0b reads x`, []string{"1-4 nothing orders them"}},
		"what is written behind the release is not released": {`
			0.0 release.sys f
			0.0 writes x
			1.0 acquire.sys f
			1.0 reads x`, []string{"2-4 nothing orders them"}},
		"an acquire of another flag orders nothing": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys g
			1.0 reads x`, []string{"1-4 nothing orders them"}},
		"fences make patterns of relaxed accesses": {`
			0.0 writes x
			0.0 fence.sys
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 fence.sys
			1.0 reads x`, nil},
		"a fence in front of the data releases nothing of it": {`
			0.0 fence.sys
			0.0 writes x
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, []string{"2-5 nothing orders them"}},
		"a fence of the system in front of a write for a GPU": {
			`
			0.0 writes x
			0.0 fence.sys
			0.0 relaxed.gpu f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"3-4 a scope is too narrow", "1-5 a scope is too narrow by 2-4"},
		},
		"what is written behind an arrival is not passed on": {`
			0.0+ 0.0b bar
			0.0 writes x
			0.0b reads x`, []string{"2-3 nothing orders them"}},
		"a barrier tells a scope that is too narrow from no order": {
			`
			0.0 writes x
			0.0 release.gpu f
			1.0 acquire.sys f
			1.0b writes y
			1.0b 1.0 bar
			1.0b reads x
			1.0 reads y`,
			[]string{"2-3 a scope is too narrow", "1-6 a scope is too narrow by 2-3"},
		},
		"what only arrives learns nothing": {`
			0.0b writes x
			0.0+ 0.0b bar
			0.0 reads x`, []string{"1-3 nothing orders them"}},
		"a fence of a GPU in front of a write for the system": {
			`
			0.0 writes x
			0.0 fence.gpu
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"1-5 a scope is too narrow by 2-4"},
		},
		"the last block to take a ticket sees what all have written": {`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 writes y
			0.1 adds.acq_rel.gpu c
			0.1 reads x`, nil},
		"a relaxed ticket passes on what it does not acquire": {
			`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 adds.gpu c
			0.2 adds.acq_rel.gpu c
			0.2 reads x
			0.1 reads x`,
			[]string{"1-6 nothing orders them"},
		},
		"a plain store breaks the chain of tickets": {`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 relaxed.gpu c
			0.2 adds.acq_rel.gpu c
			0.2 reads x`, []string{"1-5 nothing orders them"}},
		"a later store of the same thread releases, too": {`
			0.0 writes x
			0.0 release.sys f
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, nil},
		"a read that is not over when the memory is written again": {`
			0.0 reads x
			1.0 writes x`, []string{"1-2 nothing orders them"}},
		"two readers": {`
			0.0 reads x
			1.0 reads x`, nil},
		"strong accesses to the same bytes do not race": {`
			0.0 relaxed.sys f
			1.0 relaxed.sys f
			1.0 polls.sys f`, nil},
		"strong accesses that overlap in part do": {`
			0.0 wide.sys f
			1.0 polls.sys f`, []string{"1-2 they overlap in part"}},
		"a weak poll races": {`
			0.0 release.sys f
			1.0 reads f`, []string{"1-2 nothing orders them"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}

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

// Elements of other sizes in the same page do not blur: neighbours of one byte are no race, an overlap of one is.
func TestNeighboursAreNoOverlap(t *testing.T) {
	d, m := New(), &Memory{}
	a, b := d.NewThread("a", Place{Rank: 0, Launch: 1}, nil), d.NewThread("b", Place{Rank: 1, Launch: 2}, nil)
	access := func(t *Thread, kind Kind, addr, bytes uint64) int {
		before := len(d.Findings())
		d.Access(t, m, &Operation{Kind: kind, Bytes: bytes, Site: addr}, []uint64{addr}, 1)
		return len(d.Findings()) - before
	}
	access(a, Write, 1024, 16)
	if n := access(b, Write, 1040, 1) + access(b, Read, 1023, 1); n != 0 {
		t.Errorf("%d races of neighbours", n)
	}
	if n := access(b, Read, 1039, 1); n != 1 {
		t.Errorf("%d races of the last byte, want 1", n)
	}
	if n := access(a, Write, 1040, 2); n != 1 {
		t.Errorf("%d races of two bytes with one of them, want 1", n)
	}
}
