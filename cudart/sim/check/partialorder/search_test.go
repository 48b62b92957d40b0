package partialorder

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpurun/cudart/sim/check/schedule"
)

// toy is a program: of each actor the accesses in turn.
type toy [][]toyAccess

// toyAccess is an access to a word. One that awaits is a load that polls until somebody has written the word.
type toyAccess struct {
	word           uint64
	writes, awaits bool
}

func (a toyAccess) String() string {
	switch {
	case a.writes:
		return fmt.Sprintf("write %d", a.word)
	case a.awaits:
		return fmt.Sprintf("await %d", a.word)
	}
	return fmt.Sprintf("read %d", a.word)
}

func actorOf(i int) schedule.Actor { return schedule.Actor{Rank: i} }

// orders runs all schedules that a search chooses, and returns how often each order of conflicts was seen.
func (p toy) orders(t *testing.T) map[string]int {
	t.Helper()
	seen := map[string]int{}
	var s Search
	for range 10000 {
		s.Begin()
		if done, whole := p.run(&s); whole {
			seen[p.orderOf(done)]++
		}
		if !s.Next() {
			if s.Open != "" {
				t.Fatalf("%v: %s", p, s.Open)
			}
			return seen
		}
	}
	t.Fatalf("%v: the search does not end", p)
	return nil
}

// run runs a schedule, and returns who has made which of its accesses. It reports whether all were made.
func (p toy) run(s *Search) (done [][2]int, whole bool) {
	at, written := make([]int, len(p)), map[uint64]bool{}
	for {
		var able []schedule.Actor
		for i := range p {
			if at[i] < len(p[i]) {
				able = append(able, actorOf(i))
			}
		}
		if len(able) == 0 {
			s.End()
			return done, true
		}
		by, verdict := s.Choose(able)
		if verdict != Chosen {
			return nil, false
		}
		a := p[by.Rank][at[by.Rank]]
		var print Footprint
		print.Add(true, a.writes, Word{Address: 4 * a.word}, 4)
		vain := a.awaits && !written[a.word]
		if !s.Taken(print, vain) {
			return nil, false
		}
		written[a.word] = written[a.word] || a.writes
		done = append(done, [2]int{by.Rank, at[by.Rank]})
		at[by.Rank]++
	}
}

// orderOf is the order of all pairs of accesses in conflict.
func (p toy) orderOf(done [][2]int) string {
	var order []string
	for i, b := range done {
		for _, a := range done[:i] {
			x, y := p[a[0]][a[1]], p[b[0]][b[1]]
			if a[0] != b[0] && x.word == y.word && (x.writes || y.writes) {
				order = append(order, fmt.Sprint(a, b))
			}
		}
	}
	slices.Sort(order)
	return fmt.Sprint(order)
}

// interleave collects the orders of all interleavings, one by one.
func (p toy) interleave(at []int, done [][2]int, all map[string]bool) {
	ended := true
	for i := range p {
		if at[i] == len(p[i]) {
			continue
		}
		ended = false
		a := p[i][at[i]]
		if a.awaits && !slices.ContainsFunc(done, func(d [2]int) bool {
			return p[d[0]][d[1]].writes && p[d[0]][d[1]].word == a.word
		}) {
			continue
		}
		at[i]++
		p.interleave(at, append(slices.Clip(done), [2]int{i, at[i] - 1}), all)
		at[i]--
	}
	if ended {
		all[p.orderOf(done)] = true
	}
}

// A search sees each order of conflicts of a random program once, and no other.
func TestEachOrderIsSeenOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	awaiting := 0
	for range 300 {
		p := make(toy, 2+random.IntN(2))
		for i := range p {
			for range 1 + random.IntN(3) {
				kind := random.IntN(5)
				p[i] = append(p[i], toyAccess{word: random.Uint64N(2), writes: kind < 2, awaits: kind == 2})
			}
		}
		want, got := map[string]bool{}, p.orders(t)
		p.interleave(make([]int, len(p)), nil, want)
		if len(got) != len(want) {
			t.Errorf("%v: %d orders, want %d", p, len(got), len(want))
		}
		for order, times := range got {
			if !want[order] || times != 1 {
				t.Errorf("%v: the order %s %d times, possible %t", p, order, times, want[order])
			}
		}
		if slices.ContainsFunc(p, func(all []toyAccess) bool {
			return slices.ContainsFunc(all, func(a toyAccess) bool { return a.awaits })
		}) && len(want) > 1 {
			awaiting++
		}
	}
	if awaiting < 20 {
		t.Errorf("only %d programs await a word", awaiting)
	}
}
