package check

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
)

// at is an access at a line of kernel k.
func at(kind race.Kind, line int, scope race.Scope) Access {
	return Access{
		Actor: Actor{Kernel: "k"}, Kind: kind, Scope: scope, Module: "k.ptx", Line: line, Source: fmt.Sprint("k.cu:", line),
	}
}

func raceOf(cause string, first, second Access) Finding {
	return Finding{Kind: Race, Cause: cause, Sides: []Access{first, second}}
}

// Findings of one cause are a group: races by the same flag, of the same write, or for want of one griddepcontrol.wait.
func TestGroupsOfRaces(t *testing.T) {
	const narrow, none = "a scope is too narrow", "nothing orders them"
	release, acquire := at(race.Write, 1, race.SystemScope), at(race.Read, 2, race.GPUScope)
	flagged := raceOf(narrow, at(race.Write, 3, 0), at(race.Read, 4, 0))
	flagged.Flag = &[2]Access{release, acquire}
	again := raceOf(narrow, at(race.Write, 3, 0), at(race.Read, 5, 0))
	again.Flag = flagged.Flag
	other := at(race.Read, 11, 0)
	other.Kernel = "l"
	all := []Found{
		{Finding: raceOf(narrow, acquire, release)},
		{Finding: flagged},
		{Finding: raceOf(none, at(race.Write, 6, 0), at(race.Read, 7, 0))},
		{Finding: again},
		{Finding: raceOf(none, at(race.Read, 8, 0), at(race.Write, 6, 0))},
		{Finding: raceOf(none, at(race.Write, 9, 0), at(race.Read, 7, 0))},
		{Finding: raceOf(PriorNotWaited, at(race.Write, 10, 0), other)},
		{Finding: raceOf(PriorNotWaited, at(race.Write, 12, 0), other)},
		{Finding: raceOf(PriorNotWaited, other, at(race.Write, 12, 0))},
		{Finding: Finding{Kind: StaleFlag, Cause: "c", Sides: []Access{acquire}}},
	}
	want := []Grouped{
		{First: 6, Pairs: []int{7, 8}, Same: "kernels"}, // which fools waits
		{First: 9},
		{First: 1, Pairs: []int{0, 3}, Same: "flag"},
		{First: 2, Pairs: []int{4}, Same: "write"},
		{First: 5},
	}
	if diff := cmp.Diff(want, Group(all)); diff != "" {
		t.Error(diff)
	}
}

// Wrong values are consequences of what the same schedules show, and a cause of their own where nothing else explains
// them.
func TestGroupsOfConsequences(t *testing.T) {
	read := at(race.Read, 2, 0)
	first, second := raceOf("a", at(race.Write, 1, 0), at(race.Read, 9, 0)), raceOf("b", at(race.Write, 3, 0), read)
	unwritten := Finding{Kind: Uninitialized, Sides: []Access{read}}
	wrong := Finding{Kind: WrongResult, Sides: []Access{{Text: "output"}}}
	late := Finding{Kind: WrongResult, Origin: finding.ReadLate, Sides: []Access{{Text: "late"}, {}, read, {}}}
	group := func(reports ...[]Finding) []Grouped {
		m := newMerge(Exploration{})
		for _, r := range reports {
			m.add(result{report: &Report{Findings: r}})
		}
		return Group(m.Findings)
	}
	for name, c := range map[string]struct {
		reports [][]Finding
		want    []Grouped
	}{
		"the race of the same read": {
			[][]Finding{{first, second, unwritten, wrong}},
			[]Grouped{{First: 0, Consequences: []int{3}}, {First: 1, Consequences: []int{2}}},
		},
		"a race of the same read in another schedule": {
			[][]Finding{{unwritten}, {second}}, []Grouped{{First: 1, Consequences: []int{0}}},
		},
		"what nobody wrote": {
			[][]Finding{{unwritten, wrong}}, []Grouped{{First: 0, Consequences: []int{1}}},
		},
		"a cause behind a cause": {
			[][]Finding{{first}, {unwritten, wrong}, {second, unwritten}},
			[]Grouped{{First: 0}, {First: 3, Consequences: []int{1, 2}}},
		},
		"a race rather than what nobody wrote": {
			[][]Finding{{unwritten, first, wrong}, {unwritten}}, []Grouped{{First: 0}, {First: 1, Consequences: []int{2}}},
		},
		"the race of a load that was too late, in another schedule": {
			[][]Finding{{late}, {second}}, []Grouped{{First: 1, Consequences: []int{0}}},
		},
		"a schedule without a race": {
			[][]Finding{{first, wrong}, {wrong}}, []Grouped{{First: 0}, {First: 1}},
		},
	} {
		if diff := cmp.Diff(c.want, group(c.reports...)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
