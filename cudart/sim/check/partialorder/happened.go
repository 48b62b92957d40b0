package partialorder

import (
	"slices"

	"gpurun/cudart/sim/check/schedule"
)

// happened is the order of the turns of a run so far: which turns happen before which, by program order, by what lets
// an actor go on, and by conflicts.
type happened struct {
	turns  []turnTaken
	clocks map[schedule.Actor]turnClock // what happens before the next turn of an actor
	able   map[schedule.Actor]bool      // could go on before the last turn
	last   map[Word]*wordTurns
}

// turnClock says for each actor which of its turns is the last before a place. Turns of all count from 1, together.
type turnClock map[schedule.Actor]int

type turnTaken struct {
	by    schedule.Actor
	print Footprint
	after turnClock // includes the turn itself
}

// wordTurns are the last turn that wrote a word, and those that have read it since then; numbers count from 1.
type wordTurns struct {
	write int
	reads []int
}

func newHappened() *happened {
	return &happened{
		clocks: map[schedule.Actor]turnClock{}, able: map[schedule.Actor]bool{}, last: map[Word]*wordTurns{},
	}
}

func (c turnClock) join(other turnClock) {
	for id, n := range other {
		c[id] = max(c[id], n)
	}
}

// clock is what happens before the next turn of an actor.
func (h *happened) clock(id schedule.Actor) turnClock {
	c := h.clocks[id]
	if c == nil {
		c = turnClock{}
		h.clocks[id] = c
	}
	return c
}

// enable notes who can go on now. The last turn happens before those whom it has let go on.
func (h *happened) enable(able []schedule.Actor) {
	now := map[schedule.Actor]bool{}
	for _, id := range able {
		now[id] = true
		if n := len(h.turns); n > 0 && !h.able[id] {
			h.clock(id).join(h.turns[n-1].after)
		}
	}
	h.able = now
}

// take adds a turn. It returns the turns before it that are in conflict with it and not ordered otherwise, by number.
func (h *happened) take(by schedule.Actor, print Footprint) (races []int) {
	number, before := len(h.turns)+1, h.clock(by)
	after := turnClock{}
	after.join(before)
	after[by] = number
	conflict := func(n int) {
		if n == 0 || h.turns[n-1].by == by {
			return
		}
		if before[h.turns[n-1].by] < n {
			races = append(races, n)
		}
		after.join(h.turns[n-1].after)
	}
	for _, w := range print.writes {
		if t := h.last[w]; t != nil {
			conflict(t.write)
			for _, n := range t.reads {
				conflict(n)
			}
		}
		h.last[w] = &wordTurns{write: number}
	}
	for _, w := range print.reads {
		t := h.last[w]
		if t == nil {
			t = &wordTurns{}
			h.last[w] = t
		}
		conflict(t.write)
		t.reads = append(t.reads, number)
	}
	h.turns = append(h.turns, turnTaken{by, print, after})
	h.clocks[by] = turnClock{}
	h.clocks[by].join(after)
	return races
}

// initials are those who can begin to do what has happened since an earlier turn without depending on it.
func (h *happened) initials(earlier int) []schedule.Actor {
	var all []schedule.Actor
	var since []int
	e := &h.turns[earlier-1]
	for number := earlier + 1; number <= len(h.turns); number++ {
		t := &h.turns[number-1]
		last := number == len(h.turns) // whose conflict with the earlier turn is reversed
		if !last && t.after[e.by] >= earlier {
			continue
		}
		first := !slices.ContainsFunc(since, func(n int) bool { return t.after[h.turns[n-1].by] >= n })
		if first {
			all = append(all, t.by)
		}
		since = append(since, number)
	}
	return all
}

// meet orders what actors have done before what any of them does next: they have met at a barrier.
func (h *happened) meet(all []schedule.Actor) {
	together := turnClock{}
	for _, id := range all {
		together.join(h.clock(id))
	}
	for _, id := range all {
		h.clock(id).join(together)
	}
}
