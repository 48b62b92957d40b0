// Package partialorder chooses schedules such that each differs from the others in the order of conflicting accesses:
// dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with source sets and sleep sets (Godefroid,
// "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032). It does not execute anything: its
// caller tells it who can go on, and what the words are that a turn has accessed.
//
// An access is strong where its order matters. The order of weak accesses needs no schedules of its own: where that of
// the others leaves it open, each schedule shows a race.
//
// A turn of a warp begins with a strong access, and ends in front of the next one. A load that polls in vain is no
// turn: the warp cannot go on until the word is written.
package partialorder

import (
	"slices"

	"gpurun/cudart/sim/check/schedule"
)

// Search is a search through all schedules, depth first. For each schedule the caller calls Begin, then in turn Choose
// and Taken until Choose has no actor or Taken says that the schedule shows nothing new, and then Next.
type Search struct {
	branches []*branch // the choices of the schedule, and what is left to do for each
	depth    int       // choices that the schedule has made
	order    *happened
	running  schedule.Actor
	// Open is why the search is not complete although Next has no schedule left; "" if it is.
	Open string
}

// nobody is no actor.
var nobody = schedule.Actor{Rank: -1}

// Verdict is what Choose has come to.
type Verdict uint8

// The verdicts.
const (
	Chosen    Verdict = iota // the actor has to take its turn
	Redundant                // another schedule shows the same
	Stuck                    // all poll in vain: what follows is not explored
)

// Begin begins a schedule, which makes the choices so far again.
func (s *Search) Begin() {
	s.depth, s.order, s.running = 0, newHappened(), nobody
}

// Choose chooses among those that can go on, of which there is at least one.
func (s *Search) Choose(able []schedule.Actor) (schedule.Actor, Verdict) {
	s.order.enable(able)
	if s.depth == len(s.branches) && !s.grow(able) {
		return nobody, Redundant
	}
	b := s.branches[s.depth]
	switch {
	case b.stuck:
		return nobody, Stuck
	case !slices.Contains(able, b.chosen):
		s.differs()
		return nobody, Redundant
	}
	s.running = b.chosen
	return b.chosen, Chosen
}

// End says that nobody can go on.
func (s *Search) End() {
	if s.depth < len(s.branches) {
		s.differs()
	}
}

func (s *Search) differs() { s.Open = "the task does something else in the same schedule" }

// grow adds the branch of a state that is new. It reports whether there is something to explore.
func (s *Search) grow(able []schedule.Actor) bool {
	b := &branch{able: slices.SortedFunc(slices.Values(able), schedule.Actor.Compare)}
	if s.depth > 0 {
		s.branches[s.depth-1].passOn(b)
	}
	s.branches = append(s.branches, b)
	return b.chooseFirst(s.running)
}

// Taken tells what the chosen turn has accessed, and whether it has polled in vain. It returns false where the rest of
// the schedule shows nothing new.
func (s *Search) Taken(print Footprint, vain bool) bool {
	b := s.branches[s.depth]
	if vain {
		b.vain = append(b.vain, poll{b.chosen, print.reads})
		s.branches = s.branches[:s.depth+1]
		return false
	}
	b.print = print
	for _, earlier := range s.order.take(b.chosen, print) {
		s.reverse(earlier)
	}
	s.depth++
	return true
}

// Meet orders what actors have done before what any of them does next: they have met at a barrier.
func (s *Search) Meet(all []schedule.Actor) { s.order.meet(all) }

// reverse makes sure that the last turn is explored before an earlier one with which it is in conflict: what does not
// depend on the earlier one begins in its place (source sets: Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic
// Partial Order Reduction", POPL 2014).
func (s *Search) reverse(earlier int) {
	b, last := s.branches[earlier-1], s.order.turns[len(s.order.turns)-1].by
	begin := s.order.initials(earlier)
	if slices.ContainsFunc(begin, b.isExplored) || slices.Contains(begin, last) && b.isVain(last) {
		return
	}
	for _, id := range begin {
		if slices.Contains(b.able, id) {
			b.todo = append(b.todo, id)
			return
		}
	}
	for _, id := range b.able {
		if !b.isExplored(id) {
			b.todo = append(b.todo, id)
		}
	}
}

// Next goes to the next schedule that is left. It reports whether there is one.
func (s *Search) Next() bool {
	for len(s.branches) > 0 {
		if s.branches[len(s.branches)-1].advance() {
			return true
		}
		s.branches = s.branches[:len(s.branches)-1]
	}
	return false
}
