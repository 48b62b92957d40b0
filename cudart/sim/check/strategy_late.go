package check

import "math/rand/v2"

// late chooses at random, as the strategy random does. But a rank, a block of each launch, or a warp of each block goes
// on only when nothing else can, or when the others have only polled for long.
type late struct {
	random
	isLate func(*actor) bool
}

func newLate(seed uint64, ranks int) *late {
	s := &late{random: *newRandom(seed)}
	choose := rand.New(rand.NewPCG(seed, 2))
	rank, warp, block := choose.IntN(ranks), choose.IntN(4), choose.IntN(4)
	one := choose.IntN(2) == 0 // rank alone
	switch choose.IntN(3) {
	case 0:
		s.isLate = func(a *actor) bool { return a.id.Rank == rank }
	case 1:
		s.isLate = func(a *actor) bool { return a.task != nil && a.id.Block == block && (!one || a.id.Rank == rank) }
	default:
		s.isLate = func(a *actor) bool { return a.task != nil && a.id.Warp == warp && (!one || a.id.Rank == rank) }
	}
	return s
}

func (s *late) choose(r *run) choice {
	if !onlyPolls(r) {
		if next := s.among(r, func(a *actor) bool { return !s.isLate(a) }); next.actor != nil {
			return next
		}
	}
	next := s.among(r, s.isLate)
	s.task = nil
	if next.actor == nil {
		next = s.among(r, func(a *actor) bool { return !s.isLate(a) })
	}
	return next
}

// among chooses among some actors.
func (s *late) among(r *run, only func(*actor) bool) choice {
	s.only = only
	return s.random.choose(r)
}

// onlyPolls reports whether so many strong accesses have changed nothing that the others seem to wait for who is late.
func onlyPolls(r *run) bool {
	const most = 1 << 12
	return r.vain(0) > most
}
