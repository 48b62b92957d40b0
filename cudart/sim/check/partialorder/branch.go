package partialorder

import (
	"slices"

	"gpurun/cudart/sim/check/schedule"
)

// branch is a state of the ranks in which there was a choice.
type branch struct {
	able   []schedule.Actor
	chosen schedule.Actor
	print  Footprint        // of the chosen turn
	stuck  bool             // everyone polls in vain: the rest of the schedule is not explored
	todo   []schedule.Actor // choices to be explored
	done   []sleeper        // choices that were explored
	asleep []sleeper        // choices that need not be explored, because other schedules begin with them
	vain   []poll
}

// sleeper is a choice and what it would do.
type sleeper struct {
	by    schedule.Actor
	print Footprint
}

// poll is an actor that polls words in vain.
type poll struct {
	by    schedule.Actor
	words []Word
}

// chooseFirst makes the first choice of a branch. It reports whether there is something to explore.
func (b *branch) chooseFirst(running schedule.Actor) (ok bool) {
	if b.chosen, ok = b.choice(running); !ok {
		b.stuck = len(b.vain) == len(b.able)
	}
	return ok || b.stuck
}

// choice is the first choice of a branch: the actor that runs, or the lowest number, of those that are of use.
func (b *branch) choice(running schedule.Actor) (first schedule.Actor, ok bool) {
	if b.isOfUse(running) {
		return running, true
	}
	for _, id := range b.able {
		if b.isOfUse(id) {
			return id, true
		}
	}
	return nobody, false
}

// passOn gives the next branch what its own choice does not change.
func (b *branch) passOn(to *branch) {
	for _, list := range [][]sleeper{b.asleep, b.done} {
		for _, other := range list {
			if other.by != b.chosen && !other.print.conflicts(&b.print) {
				to.asleep = append(to.asleep, other)
			}
		}
	}
	for _, p := range b.vain {
		if p.by != b.chosen && !b.print.changes(p.words) {
			to.vain = append(to.vain, p)
		}
	}
}

// isOfUse reports whether an actor can be chosen and has not been.
func (b *branch) isOfUse(id schedule.Actor) bool {
	return slices.Contains(b.able, id) && !b.isVain(id) && !b.isDone(id)
}

func (b *branch) isVain(id schedule.Actor) bool {
	return slices.ContainsFunc(b.vain, func(p poll) bool { return p.by == id })
}

// isExplored reports whether a choice was made, will be made, or need not be made.
func (b *branch) isExplored(id schedule.Actor) bool {
	return id == b.chosen || slices.Contains(b.todo, id) || b.isDone(id)
}

func (b *branch) isDone(id schedule.Actor) bool {
	is := func(other sleeper) bool { return other.by == id }
	return slices.ContainsFunc(b.asleep, is) || slices.ContainsFunc(b.done, is)
}

// advance makes the next choice of a branch.
func (b *branch) advance() bool {
	switch {
	case b.stuck || b.chosen == nobody:
		return false
	case !b.isVain(b.chosen):
		b.done = append(b.done, sleeper{b.chosen, b.print})
	case len(b.done) == 0 && len(b.todo) == 0:
		return b.chooseFirst(nobody)
	}
	for len(b.todo) > 0 {
		id := b.todo[0]
		b.todo = b.todo[1:]
		if b.isOfUse(id) {
			b.chosen, b.print = id, Footprint{}
			return true
		}
	}
	return false
}
