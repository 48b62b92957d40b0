package check

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/check/schedule"
)

// Strategy is a way to choose schedules.
type Strategy string

// The strategies.
const (
	// Random lets hosts, streams and warps take turns of random length in random order.
	Random Strategy = "random"
	// PCT runs the one of highest priority, and lowers its priority at a few random places.
	PCT Strategy = "pct"
	// Late lets a rank, a block of all ranks, or a warp of all blocks go on only when nothing else can, or when all else
	// has polled for long.
	Late Strategy = "late"
	// Bounded lets everyone run until it waits, with a few preemptions at random places.
	Bounded Strategy = "bounded"
	// Exhaustive runs all schedules that differ in the order of strong accesses, which only small cases allow. In an
	// exploration it is the only strategy.
	Exhaustive Strategy = "exhaustive"
)

// DefaultStrategies are those of an exploration that names none.
var DefaultStrategies = []Strategy{Random, PCT, Late, Bounded}

// Strategies are all that there are.
var Strategies = []Strategy{Random, PCT, Late, Bounded, Exhaustive}

// ParseStrategy finds a strategy by its name.
func ParseStrategy(name string) (Strategy, error) {
	if s := Strategy(name); slices.Contains(Strategies, s) {
		return s, nil
	}
	return "", fmt.Errorf("%q is no strategy; choose from %v", name, Strategies)
}

// usualLength is how many strong accesses a run is taken to have of which nothing is known.
const usualLength = 1000

// start makes the schedule of a seed. Length is how many strong accesses a run has, roughly.
func (s Strategy) start(seed uint64, ranks, length int) (strategy, error) {
	switch s {
	case Random:
		return newRandom(seed), nil
	case PCT:
		return newPCT(seed, length), nil
	case Late:
		return newLate(seed, ranks), nil
	case Bounded:
		return newBounded(seed, length), nil
	}
	return nil, fmt.Errorf("%q is no strategy that others go with, or for a single schedule; choose from %v", string(s),
		DefaultStrategies)
}

// needsLength reports whether schedules depend on how many strong accesses a run has.
func (s Strategy) needsLength() bool { return s == PCT || s == Bounded }

// strategy makes the choices of a run.
type strategy interface {
	// choose says who goes on, of those that can: see run.canGoOn. The zero choice means that nobody can.
	choose(r *run) choice
}

// choice is an actor's turn. It ends early when the actor waits.
type choice struct {
	actor    *actor
	most     int   // instructions of a warp, steps of a stream
	accesses int   // most strong accesses of a warp, unless negative
	end      error // not nil: the run ends here
}

// untilItWaits is a turn without a limit.
func untilItWaits(a *actor) choice { return choice{actor: a, most: schedule.Forever, accesses: -1} }

// polling tells whether an actor that has its turns in a row does nothing but poll.
type polling struct {
	actor *actor
	since int // run.strong when tooLong was asked about it first
}

// mostPolls is how many strong accesses in a row by which nothing changes an actor may make before others have their
// turns.
const mostPolls = 1 << 10

// tooLong reports, before a turn of an actor, whether it has polled for so long that others should have their turns.
func (p *polling) tooLong(r *run, a *actor) bool {
	if p.actor != a {
		p.actor, p.since = a, r.strong
	}
	return r.vain(p.since) >= mostPolls
}
