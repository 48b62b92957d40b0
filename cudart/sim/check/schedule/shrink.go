package schedule

import "slices"

// Shrink looks for a short list of turns that still shows something, by delta debugging (Zeller and Hildebrandt,
// "Simplifying and Isolating Failure-Inducing Input", TSE 2002). It ends early when over is true. The result is the
// last list for which shows was true, or turns.
func Shrink(turns Turns, shows func(Turns) bool, over func() bool) Turns {
	s := shrinking{turns, shows, over}
	s.all()
	return s.turns
}

type shrinking struct {
	turns Turns // the shortest so far
	shows func(Turns) bool
	over  func() bool
}

func (s *shrinking) all() {
	s.cutEnd()
	for size := (len(s.turns) + 1) / 2; size > 0 && !s.over(); size /= 2 {
		for s.without(size) && !s.over() {
		}
	}
	s.lengthen()
}

// try takes a list over if it shows the same.
func (s *shrinking) try(turns Turns) bool {
	if s.over() || !s.shows(turns) {
		return false
	}
	s.turns = turns
	return true
}

// cutEnd leaves out as many turns at the end as it can find by halving.
func (s *shrinking) cutEnd() {
	for low, high := 0, len(s.turns); low < high && !s.over(); {
		middle := (low + high) / 2
		if s.try(s.turns[:middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
}

// without leaves out so many turns in a row wherever it can, the last ones first. It reports whether it has.
func (s *shrinking) without(size int) (some bool) {
	for end := len(s.turns); end > 0 && !s.over(); end -= size {
		begin := max(0, end-size)
		some = s.try(slices.Concat(s.turns[:begin], s.turns[end:])) || some
	}
	return some && len(s.turns) > 0
}

// lengthen makes turns end by themselves, where that shows the same.
func (s *shrinking) lengthen() {
	for i := range s.turns {
		if s.turns[i].Most < Forever {
			longer := slices.Clone(s.turns)
			longer[i].Most = Forever
			s.try(longer)
		}
	}
}
