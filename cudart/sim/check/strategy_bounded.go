package check

import (
	"math/rand/v2"
	"slices"
)

// bounded lets an actor run until it waits, and then another one by chance. A few times it preempts the one that runs,
// in front of a strong access: bugs show with few preemptions (Musuvathi and Qadeer, "Iterative Context Bounding for
// Systematic Testing of Multithreaded Programs", PLDI 2007). The preemptions are sampled, not enumerated. An actor that
// has polled for long lets another one run, as by pct: not all who poll are seen to wait.
type bounded struct {
	*rand.Rand
	places  []int // strong accesses of the run in front of which there is a preemption, in descending order
	running *actor
	ready   []*actor
	polls   polling
}

func newBounded(seed uint64, length int) *bounded {
	const mostPreemptions = 3
	random := rand.New(rand.NewPCG(seed, 3))
	return &bounded{Rand: random, places: places(random, random.IntN(mostPreemptions+1), length)}
}

func (s *bounded) choose(r *run) choice {
	n := len(s.places)
	preempts := n > 0 && r.strong >= s.places[n-1]
	if preempts {
		s.places = s.places[:n-1]
	}
	if s.running == nil || preempts || !r.canGoOn(s.running) || s.polls.tooLong(r, s.running) {
		s.running = s.other(r)
	}
	if s.running == nil {
		return choice{}
	}
	next := untilItWaits(s.running)
	next.accesses = mostPolls
	if n := len(s.places); n > 0 {
		next.accesses = min(next.accesses, max(1, s.places[n-1]-r.strong))
	}
	return next
}

// other is another actor that can go on, by chance, the one that runs if there is no other, or nil.
func (s *bounded) other(r *run) *actor {
	s.ready = s.ready[:0]
	r.candidates(func(a *actor) bool {
		if a != s.running && r.canGoOn(a) {
			s.ready = append(s.ready, a)
		}
		return true
	})
	switch {
	case len(s.ready) > 0:
		return s.ready[s.IntN(len(s.ready))]
	case s.running != nil && r.canGoOn(s.running):
		return s.running
	}
	return nil
}

func sortDescending(all []int) {
	slices.Sort(all)
	slices.Reverse(all)
}
