package check

import (
	"math/rand/v2"

	"gpurun/cudart/sim/check/schedule"
)

// pct gives each actor a random priority, and lets the one of highest priority run that can go on. At a few random
// places the one that runs gets the lowest priority: Burckhardt, Kothari, Musuvathi and Nagarakatti, "A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. A bug that needs the order of d pairs of
// accesses is found with a probability of at least 1/(n k^(d-1)), of n actors and k strong accesses.
//
// There are so many warps that the seed also chooses who shares a priority: all of a rank, of a block, or of a warp.
//
// An actor that polls others and has the highest priority would use up the run. After 1,024 strong accesses in a row by
// which nothing has changed it goes below all others, as a thread that yields in Musuvathi and Qadeer, "Fair Stateless
// Model Checking", PLDI 2008. Whatever it waits for then happens, and it is chosen again when nobody else can go on.
type pct struct {
	seed    uint64
	grain   int
	changes []int // strong accesses of the run after which the priority changes, in descending order
	lowered map[schedule.Actor]uint64
	// known are priorities by the number of the actor. 0 is not known.
	known  []uint64
	polls  polling
	yields uint64 // actors that have gone below all others so far
}

// Those that have yielded are below lowestLowered, those that were lowered at a change below lowestGiven.
const (
	lowestLowered = 1 << 32
	lowestGiven   = 1 << 33
)

func newPCT(seed uint64, length int) *pct {
	const mostChanges = 4
	random := rand.New(rand.NewPCG(seed, 1))
	s := &pct{seed: random.Uint64(), grain: random.IntN(3), lowered: map[schedule.Actor]uint64{}}
	s.changes = places(random, random.IntN(mostChanges+1), length)
	return s
}

func (s *pct) choose(r *run) choice {
	a := r.best(s.before)
	if a == nil {
		return choice{}
	}
	if n := len(s.changes); n > 0 && r.strong >= s.changes[n-1] {
		s.lowered[s.group(a.id)] = uint64(n) // lower than at the change before
		s.changes = s.changes[:n-1]
		clear(s.known)
		a = r.best(s.before)
	}
	if s.polls.tooLong(r, a) {
		s.yield(a)
		a = r.best(s.before)
	}
	return choice{actor: a, most: schedule.Forever, accesses: 1}
}

// yield puts an actor below all others.
func (s *pct) yield(a *actor) {
	s.knownPriority(a)
	s.yields++
	s.known[a.number] = lowestLowered - s.yields
}

func (s *pct) before(a, b *actor) bool { return s.knownPriority(a) > s.knownPriority(b) }

func (s *pct) knownPriority(a *actor) uint64 {
	for len(s.known) <= a.number {
		s.known = append(s.known, 0)
	}
	if s.known[a.number] == 0 {
		s.known[a.number] = s.priority(a.id)
	}
	return s.known[a.number]
}

func (s *pct) priority(id schedule.Actor) uint64 {
	group := s.group(id)
	if p, ok := s.lowered[group]; ok {
		return lowestLowered + p
	}
	return max(lowestGiven, hashOf(group, s.seed))
}

// group stands for all that have the priority of an actor.
func (s *pct) group(id schedule.Actor) schedule.Actor {
	switch s.grain {
	case 0:
		return schedule.Actor{Rank: id.Rank}
	case 1:
		id.Warp = 0
	}
	return id
}

// places are so many strong accesses of a run of a length, in descending order.
func places(random *rand.Rand, n, length int) []int {
	var all []int
	for range n {
		all = append(all, random.IntN(max(1, length)))
	}
	sortDescending(all)
	return all
}
