package finding

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
)

// Found is a finding of some schedules.
type Found struct {
	Finding
	Schedules int                // that show it
	Schedule  *schedule.Schedule // the first that shows it
	Number    int                // of that schedule in its exploration, from 1 on
	// Shrunk is how many decisions Schedule had before it was shrunk; 0 if it was not.
	Shrunk int
	// Because is the key of another finding of the same schedule that may be why this one is there, or "". Alone is how
	// many schedules show this one and nothing that explains it.
	Because string
	Alone   int
}

// Grouped are findings that one mistake explains, by their places among all.
type Grouped struct {
	First int
	// Pairs are races of other lines for the same cause: by the same flag, with the same write, or of the same launch. Or
	// they are other results that depend on the schedule.
	Pairs []int
	// Consequences are wrong values that First may explain.
	Consequences []int
	// Same says what First and Pairs have in common, such as "flag"; "" without Pairs.
	Same string
}

// Group finds the root causes among findings, the plainest ones first. A wrong value is a group of its own only if some
// schedule shows it and nothing that explains it.
func Group(all []Found) []Grouped {
	var groups []Grouped
	known, of := map[string]int{}, map[string]int{} // groups, by root cause and by the key of a finding
	for i := range all {
		f := &all[i]
		if f.follows(all) {
			continue
		}
		root, same := f.root()
		at, ok := known[root]
		if !ok {
			at = len(groups)
			known[root] = at
			groups = append(groups, Grouped{First: i})
		} else {
			groups[at].add(all, i, same)
		}
		of[f.Key()] = at
	}
	for i := range all {
		if f := &all[i]; f.follows(all) {
			at := of[f.cause(all)]
			groups[at].Consequences = append(groups[at].Consequences, i)
		}
	}
	slices.SortStableFunc(groups, func(a, b Grouped) int {
		return all[a.First].plainness() - all[b.First].plainness()
	})
	return groups
}

// add adds a race to a group. A data race says more than a race between the accesses to the flag.
func (g *Grouped) add(all []Found, i int, same string) {
	if all[g.First].betweenFlags() && !all[i].betweenFlags() {
		g.First, i = i, g.First
	}
	g.Pairs, g.Same = append(g.Pairs, i), same
}

// root is the same for findings that one change of the program ends, and says what they have in common.
func (f *Finding) root() (key, same string) {
	switch {
	case f.Kind == ScheduleDependent:
		return string(f.Kind), "result"
	case f.Kind != Race || len(f.Sides) != 2:
		return f.Key(), ""
	case f.Flag != nil:
		return "flag " + linesOf(f.Flag[0], f.Flag[1]), "flag"
	case f.betweenFlags():
		return "flag " + linesOf(f.Sides[0], f.Sides[1]), "flag"
	case f.Cause == PriorNotWaited:
		a, b := f.Sides[0].Kernel, f.Sides[1].Kernel
		return f.Cause + " " + min(a, b) + " " + max(a, b), "kernels"
	}
	write := f.Sides[0]
	if !write.Writes() {
		write = f.Sides[1]
	}
	return f.Cause + " " + linesOf(write, write), "write"
}

// betweenFlags reports whether both accesses of a race are strong.
func (f *Finding) betweenFlags() bool {
	return f.Kind == Race && len(f.Sides) == 2 && f.Sides[0].Scope != 0 && f.Sides[1].Scope != 0
}

// linesOf are the lines of two accesses, in whichever order.
func linesOf(a, b Access) string {
	both := []string{a.Opcode() + " " + a.Place(), b.Opcode() + " " + b.Place()}
	slices.Sort(both)
	return strings.Join(both, ", ")
}

// consequence says how far a kind of finding is from its cause: 0 is none of others.
func (k Kind) consequence() int {
	switch k {
	case WrongResult:
		return 2
	case Uninitialized:
		return 1
	}
	return 0
}

// explains reports whether a finding of the same schedule may be why there is another one.
func (f *Finding) explains(other *Finding) bool {
	return !f.Note && f.Kind.consequence() < other.Kind.consequence()
}

// Because is the key of what may be why a finding is among those of its schedule: the first that is no consequence
// itself, or else the first that explains it; "" if none does.
func Because(f *Finding, all []Finding) string {
	var first *Finding
	for i := range all {
		other := &all[i]
		if other.explains(f) && (first == nil || first.Kind.consequence() > other.Kind.consequence()) {
			first = other
		}
	}
	if first == nil {
		return ""
	}
	return first.Key()
}

// reads reports whether a side of a race is the read of another finding.
func (f *Finding) reads(other *Finding) bool {
	at := other.Sides[0]
	if other.Origin == ReadEarly || other.Origin == ReadLate {
		at = other.Sides[2]
	}
	return slices.ContainsFunc(f.Sides, func(s Access) bool {
		return at.Kernel != "" && s.Module == at.Module && s.Line == at.Line
	})
}

// cause is the key of the root cause of a finding among all; "" if none explains it.
func (f *Found) cause(all []Found) string {
	rootOf := func(o *Found) string {
		if root := o.cause(all); root != "" {
			return root
		}
		return o.Key()
	}
	for i := range all {
		if o := &all[i]; o.explains(&f.Finding) && o.reads(&f.Finding) {
			return rootOf(o)
		}
	}
	if f.Alone > 0 || f.Because == "" {
		return ""
	}
	for i := range all {
		if o := &all[i]; o.Key() == f.Because {
			return rootOf(o)
		}
	}
	return ""
}

// follows reports whether a finding is the consequence of another one.
func (f *Found) follows(all []Found) bool { return f.Kind.consequence() > 0 && f.cause(all) != "" }

// plainness orders root causes: a kernel that does not wait for the one before it fools waits, a wait that was fooled
// explains races, and those explain wrong values.
func (f *Found) plainness() int {
	switch {
	case f.Kind == Race && f.Cause == PriorNotWaited:
		return 0
	case slices.Contains([]Kind{LostSignal, StaleFlag, BarrierDivergence}, f.Kind):
		return 1
	case f.Kind == WrongResult || f.Kind == ScheduleDependent:
		return 3
	}
	return 2
}

// Writes reports whether an access changes memory.
func (a Access) Writes() bool { return a.Kind == race.Write || a.Kind == race.Update }
