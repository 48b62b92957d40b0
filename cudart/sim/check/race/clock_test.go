package race

import (
	"slices"
	"strings"
	"testing"
)

// Threads share one vector behind a barrier, a release or a launch. Who learns more gets a vector of its own: these
// stories have a thread that shares one and must not learn what another holder does.
func TestSharedVectorsDoNotLeak(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"a thread acquires behind the barrier, and the other one does not": {`
			2.0 writes x
			2.0 release.sys f
			0.0 0.0b bar
			0.0 acquire.sys f
			0.0 reads x
			0.0b reads x`, []string{"1-6 nothing orders them"}},
		"a release does not carry what its thread acquires later": {`
			2.0 writes x
			2.0 release.sys f
			0.0 0.0b bar
			0.0 release.sys g
			0.0 acquire.sys f
			1.0 acquire.sys g
			1.0 reads x`, []string{"1-7 nothing orders them"}},
		"nor does the release by the other holder of its vector": {`
			2.0 writes x
			2.0 release.sys f
			0.0 0.0b bar
			0.0 acquire.sys f
			0.0b release.sys g
			1.0 acquire.sys g
			1.0 reads x`, []string{"1-7 nothing orders them"}},
		"the one who acquires a release does not teach the one who released": {`
			2.0 writes x
			2.0 release.sys f
			0.0 0.0b bar
			0.0 release.sys g
			1.0 acquire.sys g
			1.0 acquire.sys f
			0.0 reads x`, []string{"1-7 nothing orders them"}},
		"the first to arrive at a barrier lends its vector to nobody": {`
			1.0 writes x
			0.0 0.0b bar
			0.0 1.0 bar
			0.0b reads x`, []string{"1-4 nothing orders them"}},
		"what a barrier collects of fenced writes is not told to others": {`
			0.0 0.0b bar
			0.0 writes x
			0.0 fence.proxy.shared
			0.0+ bar
			0.0b reads x`, []string{"2-5 nothing orders them"}},
		"a grid begins with what its stream knew at the launch": {`
			2.0 writes x
			2.0 release.sys f
			0.0 0.0b bar
			0.0 grid 0.1
			0.0 acquire.sys f
			0.1 reads x`, []string{"1-6 nothing orders them"}},
		"a relaxed arrival with an old fence takes nothing from those who know more": {`
			0.0/0 fence.cluster
			0.0/0 writes x
			0.0/0 release.cluster f
			0.1/0 acquire.cluster f
			0.1/0 0.0/0~ bar
			0.1/0 reads x`, nil},
		"a fence for one space is not taken for one for another": {`
			0.0 writes x
			0.0 fence.proxy.global
			0.0 0.0b bar
			1.0 release.sys f
			0.0b acquire.sys f
			0.0b copies a x y`, []string{"1-6 wrong proxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}

// told tells a story, whose threads a test then has do more.
func told(story string) *teller {
	s := &teller{d: New(), threads: map[string]*Thread{}, copies: map[string]*Copy{}}
	s.more(story)
	return s
}

// more tells further steps, which count on from 100.
func (s *teller) more(story string) {
	for i, step := range strings.Split(strings.TrimSpace(story), "\n") {
		s.tell(100+i, step)
	}
}

// causes are those of the races so far.
func (s *teller) causes() (all []Cause) {
	for _, f := range s.d.Findings() {
		all = append(all, f.Cause)
	}
	return all
}

// A barrier is used again, as those of a block are. A thread that arrives for the second time tells nothing to one that
// has left the first time and has not come again.
func TestBarrierIsUsedAgain(t *testing.T) {
	s := told(`
		2.0 writes x
		2.0 release.sys f`)
	a, b := s.thread("0.0"), s.thread("0.0b")
	var barrier Barrier
	for range 2 {
		s.d.Arrive(&barrier, a)
		s.d.Arrive(&barrier, b)
		s.d.Release(&barrier, []*Thread{a, b})
	}
	s.more("0.0 acquire.sys f")
	s.d.Arrive(&barrier, a)
	s.more("0.0b reads x")
	if got, want := s.causes(), []Cause{NoOrder}; !slices.Equal(got, want) {
		t.Errorf("races %v, want %v", got, want)
	}
}

// Lanes that fence while others of the warp wait at a barrier keep what the fence has given them.
func TestFenceWhileOthersWait(t *testing.T) {
	s := told("0.1 writes x\n0.1 0.0 bar")
	a, b := s.thread("0.0"), s.thread("0.0b")
	var barrier Barrier
	s.d.Arrive(&barrier, a)
	s.more("0.0 fence.proxy.shared")
	s.d.Arrive(&barrier, b)
	s.d.Release(&barrier, []*Thread{a, b})
	s.more("0.0 copies a x y")
	if got := s.causes(); len(got) > 0 {
		t.Errorf("races %v of a copy behind the fence", got)
	}
	s.more("0.0b copies b x z")
	if got, want := s.causes(), []Cause{WrongProxy}; !slices.Equal(got, want) {
		t.Errorf("races %v of the other warp, want %v", got, want)
	}
}

// Two moments are joined to a third one. Who is behind one of the two knows nothing of the other one: neither that its
// accesses are ordered, nor that a proxy fence came behind them, nor that a scope was too narrow.
func TestJoinedMomentsStayAsTheyWere(t *testing.T) {
	s := told(`
		0.0 1.0 bar
		3.0 release.gpu f
		0.0 acquire.sys f
		0.0 fence.proxy.shared
		1.0 writes x
		1.0 release.sys g
		1.0 fence.proxy.shared`)
	races := len(s.causes()) // the flag's scope is too narrow
	first, second := s.d.Now(s.thread("0.0")), s.d.Now(s.thread("1.0"))
	s.d.After(s.thread("0.1"), first)
	both := first.With(second)
	s.more(`
		0.1 reads x
		0.1 acquire.sys g
		0.1 copies a x y`)
	if got, want := s.causes()[races:], []Cause{NoOrder, WrongProxy}; !slices.Equal(got, want) {
		t.Errorf("races %v of who is behind the first moment, want %v", got, want)
	}
	s.d.After(s.thread("0.2"), both)
	s.more(`
		0.2 reads x
		0.2 copies b x z`)
	if n := len(s.causes()) - races; n != 2 {
		t.Errorf("%d races, want none of who is behind both moments", n-2)
	}
}

// A vector of the same length is another one, and is joined.
func TestMomentsOfOneLengthDiffer(t *testing.T) {
	s := told(`
		0.0 1.0 bar
		0.0 writes x
		1.0 writes y`)
	first, second := s.d.Now(s.thread("0.0")), s.d.Now(s.thread("1.0"))
	if len(first.ordered) != len(second.ordered) {
		t.Fatalf("the vectors have %d and %d times", len(first.ordered), len(second.ordered))
	}
	s.d.After(s.thread("0.1"), first)
	s.d.After(s.thread("0.1"), second)
	s.more(`
		0.1 reads x
		0.1 reads y`)
	if got := s.causes(); len(got) > 0 {
		t.Errorf("races %v of a thread behind both moments", got)
	}
}

// What is shared: else each of the threads of a grid has a vector as long as the grid has warps.
func TestVectorsAreShared(t *testing.T) {
	s := told("0.0 0.0b 0.0c bar")
	a, b, c := s.thread("0.0"), s.thread("0.0b"), s.thread("0.0c")
	for _, other := range []*Thread{b, c} {
		if !a.known.sharesPast(&other.known) {
			t.Errorf("%v has a vector of its own behind the barrier", other.Name)
		}
	}
	s.more("0.0 release.cta f\n0.0b acquire.cta f")
	if a.known.sharesPast(&b.known) || !a.known.sharesPast(&c.known) {
		t.Error("a thread that has acquired shares its vector with the others, or the others do not share theirs")
	}
	if !b.known.isOne() {
		t.Error("both clocks of a thread are one vector while no scope was too narrow")
	}
	if k := &b.known.seen; k.first(int(SharedSpace)) != 0 || k.first(int(AliasSpace)) != 0 {
		t.Error("the clocks of all spaces are one vector while no proxy fence was for one of them")
	}
	moment := s.d.Now(b)
	s.d.After(c, moment)
	if !c.known.ordered.past.same(moment.ordered) {
		t.Error("a thread does not take the vector of a moment that covers its own")
	}
}
