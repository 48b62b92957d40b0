package check

import (
	"fmt"

	"gpurun/cudart/sim/check/race"
)

// commandSite is a command of a stream where the order of calls is of interest.
type commandSite struct {
	text  string
	begun int // launches of the run that had begun
}

// commandSite is where a command of a stream is in the program: for a diagnosis also in front of which launches.
func (r *run) commandSite(text string) race.Site {
	if r.checker.cfg.diagnoses {
		return commandSite{text, len(r.grids)}
	}
	return text
}

// The begin and the end of advice about calls.
const (
	noMeeting      = "a barrier of the ranks is missing"
	nextOverwrites = "'s next work overwrites"
)

// missingMeeting names what would keep the work of two ranks apart that share no flag.
func (r *run) missingMeeting(f *race.Finding, first, second Access) string {
	if first.Rank == second.Rank {
		return ""
	}
	for launch := 1; launch <= r.launches && first.Launch != 0; launch++ {
		if r.priors[launch] == first.Launch && !r.waitedPrior[launch] {
			return fmt.Sprintf("add griddepcontrol.wait to %s: it was launched early, and its flags do not wait for %s",
				r.grids[launch-1].kernel, first.Kernel)
		}
	}
	if first.Launch > 0 && second.Launch > 0 && r.grids[first.Launch-1].call == r.grids[second.Launch-1].call {
		return ""
	}
	early, late := first, second
	if r.isSecondEarlier(r.workOf(f.First, first), r.workOf(f.Second, second)) {
		early, late = second, first
	}
	if early.Kind == race.Read && late.Writes() {
		return fmt.Sprintf("%s behind the read by rank %d: rank %d%s", noMeeting, early.Rank, late.Rank, nextOverwrites)
	}
	return fmt.Sprintf("%s between the %s by rank %d and the %s by rank %d", noMeeting, nounOf(early),
		early.Rank, nounOf(late), late.Rank)
}

// work is an access among the calls of its rank.
type work struct {
	rank, begun int          // launches of the run that had begun in front of it; below 0: that is not known
	grid        *watchedGrid // nil for commands
}

func (r *run) workOf(s race.Side, a Access) work {
	if a.Launch > 0 {
		return work{a.Rank, a.Launch - 1, r.grids[a.Launch-1]}
	}
	if c, ok := s.Op.Site.(commandSite); ok {
		return work{a.Rank, c.begun, nil}
	}
	return work{a.Rank, -1, nil}
}

// isSecondEarlier reports whether the second of two works belongs in front of the first one, by the calls of the ranks.
// A command belongs in front of the launches behind it.
func (r *run) isSecondEarlier(first, second work) bool {
	if earlier, known := r.isInFront(second, first); known {
		return earlier
	}
	later, known := r.isInFront(first, second)
	return known && !later
}

// isInFront reports whether work comes before its own rank's launch of the call that another rank's kernel is of. That
// is not known where the rank does not launch this kernel.
func (r *run) isInFront(w, of work) (inFront, known bool) {
	if w.begun < 0 || of.grid == nil {
		return false, false
	}
	calls := 0
	for i, g := range r.grids {
		if g.rank == w.rank && g.kernel == of.grid.kernel {
			known = true
			if i < w.begun {
				calls++
			}
		}
	}
	return of.grid.call > calls, known
}
