package check

import (
	"errors"
	"slices"

	"gpurun/cudart/sim/check/schedule"
)

// exhaustive runs every schedule that differs from the others in the order of strong accesses to the same words, of
// which one writes: dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with source sets and sleep sets
// (Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032). The order of weak
// accesses needs no schedules of its own: where that of the others leaves it open, each schedule shows a race.
//
// A turn of a warp begins with a strong access, and ends in front of the next one. A load that polls in vain is
// no turn: the warp cannot go on until the word is written.
type exhaustive struct {
	nodes    []*branch // the choices of the run, and what is left to do for each
	depth    int       // choices that the run has made
	order    *happened
	print    footprint // of the turn under way
	running  *actor
	stopped  map[schedule.Actor]bool // warps in front of a strong access
	finishes bool                    // the rest of the run is not explored
	open     string                  // why the search is not complete
}

// branch is a state of the ranks in which there was a choice.
type branch struct {
	able   []schedule.Actor
	chosen schedule.Actor
	print  footprint        // of the chosen turn
	stuck  bool             // everyone polls in vain: the rest of the run is not explored
	todo   []schedule.Actor // choices to be explored
	done   []sleeper        // choices that were explored
	asleep []sleeper        // choices that need not be explored, because other schedules begin with them
	vain   []poll
}

// nobody is no actor.
var nobody = schedule.Actor{Rank: -1}

// sleeper is a choice and what it would do.
type sleeper struct {
	by    schedule.Actor
	print footprint
}

// poll is an actor that polls words in vain.
type poll struct {
	by    schedule.Actor
	words []wordID
}

// errCut ends a run that shows nothing new.
var errCut = errors.New("the schedule is redundant")

func newExhaustive() *exhaustive { return &exhaustive{} }

// begin begins a run, which makes the choices so far again.
func (s *exhaustive) begin() {
	s.depth, s.order, s.running, s.finishes = 0, newHappened(), nil, false
	s.print, s.stopped = footprint{}, map[schedule.Actor]bool{}
}

func (s *exhaustive) choose(r *run) choice {
	if s.finishes {
		return (&steady{s.running}).choose(r)
	}
	var able []*actor
	r.candidates(func(a *actor) bool {
		if r.canGoOn(a) {
			able = append(able, a)
		}
		return true
	})
	if len(able) == 0 { // all have ended, or wait for a later time
		s.finishes = true
		return choice{}
	}
	s.order.enable(able)
	if s.depth == len(s.nodes) && !s.grow(able) {
		return choice{end: errCut}
	}
	n := s.nodes[s.depth]
	if n.stuck {
		s.finishes = true
		return s.choose(r)
	}
	at := slices.IndexFunc(able, func(a *actor) bool { return a.id == n.chosen })
	if at < 0 {
		s.open = "the task does something else in the same schedule"
		return choice{end: errCut}
	}
	s.running, s.print = able[at], footprint{}
	next := choice{actor: s.running, most: 1}
	if s.running.task != nil {
		next.most = schedule.Forever
		if s.stopped[n.chosen] {
			next.accesses = 1
		}
	}
	return next
}

// grow adds the node of a state that is new. It reports whether there is something to explore.
func (s *exhaustive) grow(able []*actor) bool {
	n := &branch{}
	for _, a := range able {
		n.able = append(n.able, a.id)
	}
	slices.SortFunc(n.able, schedule.Actor.Compare)
	if s.depth > 0 {
		s.nodes[s.depth-1].passOn(n)
	}
	s.nodes = append(s.nodes, n)
	return n.chooseFirst(s.running)
}

// chooseFirst makes the first choice of a node. It reports whether there is something to explore.
func (n *branch) chooseFirst(running *actor) (ok bool) {
	if n.chosen, ok = n.choice(running); !ok {
		n.stuck = len(n.vain) == len(n.able)
	}
	return ok || n.stuck
}

// passOn gives the next node what its own choice does not change.
func (n *branch) passOn(to *branch) {
	for _, list := range [][]sleeper{n.asleep, n.done} {
		for _, other := range list {
			if other.by != n.chosen && !other.print.conflicts(&n.print) {
				to.asleep = append(to.asleep, other)
			}
		}
	}
	for _, p := range n.vain {
		if p.by != n.chosen && !n.print.changes(p.words) {
			to.vain = append(to.vain, p)
		}
	}
}

// choice is the first choice of a node: the actor that runs, or the lowest number, of those that are of use.
func (n *branch) choice(running *actor) (first schedule.Actor, ok bool) {
	if running != nil && n.isOfUse(running.id) {
		return running.id, true
	}
	for _, id := range n.able {
		if n.isOfUse(id) {
			return id, true
		}
	}
	return nobody, false
}

// isOfUse reports whether an actor can be chosen and has not been.
func (n *branch) isOfUse(id schedule.Actor) bool {
	return slices.Contains(n.able, id) && !n.isVain(id) && !n.isDone(id)
}

func (n *branch) isVain(id schedule.Actor) bool {
	return slices.ContainsFunc(n.vain, func(p poll) bool { return p.by == id })
}

// taken is called behind a turn. It returns an error to end the run.
func (s *exhaustive) taken(a *actor) error {
	if s.finishes {
		return nil
	}
	n := s.nodes[s.depth]
	if a.task != nil {
		if s.stopped[a.id] && a.warp.PollsAgain() {
			n.vain = append(n.vain, poll{a.id, s.print.reads})
			s.nodes = s.nodes[:s.depth+1]
			return errCut
		}
		s.stopped[a.id] = a.warp.StoppedBeforeAccess()
	}
	n.print = s.print
	for _, earlier := range s.order.take(a.id, s.print) {
		s.reverse(earlier)
	}
	s.depth++
	return nil
}

// reverse makes sure that the last turn is explored before an earlier one with which it is in conflict: what does not
// depend on the earlier one begins in its place (source sets: Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic
// Partial Order Reduction", POPL 2014).
func (s *exhaustive) reverse(earlier int) {
	n, last := s.nodes[earlier-1], s.order.turns[len(s.order.turns)-1].by
	begin := s.order.initials(earlier)
	if slices.ContainsFunc(begin, n.isExplored) || slices.Contains(begin, last) && n.isVain(last) {
		return
	}
	for _, id := range begin {
		if slices.Contains(n.able, id) {
			n.todo = append(n.todo, id)
			return
		}
	}
	for _, id := range n.able {
		if !n.isExplored(id) {
			n.todo = append(n.todo, id)
		}
	}
}

// isExplored reports whether a choice was made, will be made, or need not be made.
func (n *branch) isExplored(id schedule.Actor) bool {
	return id == n.chosen || slices.Contains(n.todo, id) || n.isDone(id)
}

func (n *branch) isDone(id schedule.Actor) bool {
	is := func(other sleeper) bool { return other.by == id }
	return slices.ContainsFunc(n.asleep, is) || slices.ContainsFunc(n.done, is)
}

// next goes to the next schedule that is left. It reports whether there is one.
func (s *exhaustive) next() bool {
	for len(s.nodes) > 0 {
		n := s.nodes[len(s.nodes)-1]
		if n.advance() {
			return true
		}
		s.nodes = s.nodes[:len(s.nodes)-1]
	}
	return false
}

// advance makes the next choice of a node.
func (n *branch) advance() bool {
	switch {
	case n.stuck || n.chosen == nobody:
		return false
	case !n.isVain(n.chosen):
		n.done = append(n.done, sleeper{n.chosen, n.print})
	case len(n.done) == 0 && len(n.todo) == 0:
		return n.chooseFirst(nil)
	}
	for len(n.todo) > 0 {
		id := n.todo[0]
		n.todo = n.todo[1:]
		if n.isOfUse(id) {
			n.chosen, n.print = id, footprint{}
			return true
		}
	}
	return false
}
