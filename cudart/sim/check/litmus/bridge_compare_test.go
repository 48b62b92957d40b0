package litmus

import (
	"fmt"
	"maps"
	"slices"

	"gpurun/cudart/sim/check"
)

// compareStates compares the states in which schedules have ended with those of all interleavings, and with the
// model's.
func (s *shown) compareStates() string {
	test := s.result.Test
	allowed := map[string]bool{}
	for i := range s.result.States {
		allowed[s.result.States[i].Describe(test)] = true
	}
	for _, text := range slices.Sorted(maps.Keys(s.states)) {
		if !allowed[text] && !s.result.Bounded {
			return fmt.Sprintf("a schedule ends in %s, which the model does not allow", text)
		}
	}
	ends, stuck, ok := interleave(test)
	if !ok {
		return ""
	}
	if s.hung != stuck {
		return fmt.Sprintf("threads wait for ever at a barrier: %t, and in interleavings %t", s.hung, stuck)
	}
	want := map[string]bool{}
	for i := range ends {
		want[ends[i].Describe(test)] = true
	}
	for _, text := range slices.Sorted(maps.Keys(want)) {
		if !s.states[text] {
			return fmt.Sprintf("no schedule ends in %s, and an interleaving does", text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(s.states)) {
		if !want[text] {
			return fmt.Sprintf("a schedule ends in %s, and no interleaving does", text)
		}
	}
	return ""
}

// compareRaces compares those of the detector with those of the model.
func (s *shown) compareRaces() string {
	found, at := maps.Clone(s.races), map[int]bool{} // locations
	for pair := range found {
		at[pair[0].Location] = true
	}
	for _, race := range s.result.Races {
		pair := [2]*Instruction{race.First, race.Second}
		switch {
		case race.Sequential && !found[pair] && !(s.lenient && at[race.First.Location]):
			return fmt.Sprintf("the detector misses the race of %q and %q", race.First.Text, race.Second.Text)
		case !race.Sequential && found[pair]:
			return fmt.Sprintf("the detector finds a race of %q and %q, which no interleaving has", race.First.Text,
				race.Second.Text)
		}
		delete(found, pair)
	}
	for pair := range found {
		return fmt.Sprintf("the detector finds a race of %q and %q, which the model has not", pair[0].Text, pair[1].Text)
	}
	return ""
}

// pair is the instructions of a finding in the order of the test's threads.
func (k *kernel) pair(f check.Finding) [2]*Instruction {
	var p [2]*Instruction
	var at [2]int
	if len(f.Sides) != 2 {
		return p
	}
	for i := range p {
		if _, err := fmt.Sscanf(f.Sides[i].Source, "litmus.cu:%d", &at[i]); err == nil && at[i] <= len(k.lines) {
			p[i] = k.lines[at[i]-1]
		}
	}
	if at[0] > at[1] {
		p[0], p[1] = p[1], p[0]
	}
	return p
}
