package check

import "math/rand/v2"

// random lets an actor that is not a warp, or the warps of one launch, run for a while, all by chance. So some ranks
// get far ahead of others. A warp keeps its pace for many turns, so that some warps fall far behind others, too.
type random struct {
	*rand.Rand
	task *kernelTask // whose warps run
	left int         // turns until others may
	only func(*actor) bool
}

func newRandom(seed uint64) *random { return &random{Rand: rand.New(rand.NewPCG(seed, 0))} }

const (
	maxBurst = 5   // logarithm of the most steps of a stream, and turns of each warp of a launch, in a row
	maxTurn  = 128 // instructions of a warp's turn
)

func (s *random) choose(r *run) choice {
	s.left--
	if s.task != nil && !s.task.done && s.left > 0 {
		if a := s.warp(r, s.task); a != nil {
			return s.turn(a)
		}
	}
	s.task = nil
	var ready []*actor
	for _, a := range r.slow {
		if s.may(a) && r.canGoOn(a) {
			ready = append(ready, a)
		}
	}
	for _, t := range r.tasks {
		if a := s.warp(r, t); a != nil {
			ready = append(ready, a)
		}
	}
	if len(ready) == 0 {
		return choice{}
	}
	a := ready[s.IntN(len(ready))]
	if a.task != nil {
		s.task, s.left = a.task, len(a.task.awake)<<s.IntN(maxBurst+1)
	}
	return s.turn(a)
}

func (s *random) may(a *actor) bool { return s.only == nil || s.only(a) }

// warp is a warp of a launch that can go on, or nil.
func (s *random) warp(r *run, t *kernelTask) *actor {
	n := len(t.awake)
	for range min(n, 16) {
		if a := t.awake[s.IntN(n)]; s.may(a) && r.canGoOn(a) {
			return a
		}
	}
	if n == 0 {
		return nil
	}
	first := s.IntN(n)
	for i := range n {
		if a := t.awake[(first+i)%n]; s.may(a) && r.canGoOn(a) {
			return a
		}
	}
	return nil
}

// turn is the next turn of an actor.
func (s *random) turn(a *actor) choice {
	const oneIn = 256 // turns, the pace of a warp changes
	if a.task == nil {
		return choice{actor: a, most: 1 << s.IntN(maxBurst+1)}
	}
	if a.pace == 0 || s.IntN(oneIn) == 0 {
		a.pace = maxTurn >> s.IntN(8)
	}
	return choice{actor: a, most: 1 + s.IntN(a.pace), accesses: -1}
}
