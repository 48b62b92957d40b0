package workload

import (
	"cmp"
	"slices"
)

// SideBySide puts the cases that differ in algorithm and grid alone together: type by
// type and operation by operation, first out of place and then in place, and by
// size. What different sizes come down to the same call is measured once.
func (p Plan) SideBySide() [][]Case {
	var words []string // types with operations, in the order of the job
	tasks := map[string][]Case{}
	for _, c := range p.Cases {
		if w := c.words(); !slices.Contains(words, w) {
			words = append(words, w)
		}
		if group := tasks[c.Task()]; !slices.ContainsFunc(group, c.sameCandidate) {
			tasks[c.Task()] = append(group, c)
		}
	}
	var all [][]Case
	for _, group := range tasks {
		all = append(all, group)
	}
	place := map[bool]int{true: 1}
	slices.SortFunc(all, func(a, b []Case) int {
		return cmp.Or(
			cmp.Compare(slices.Index(words, a[0].words()), slices.Index(words, b[0].words())),
			cmp.Compare(place[a[0].InPlace], place[b[0].InPlace]),
			cmp.Compare(a[0].Bytes(), b[0].Bytes()))
	})
	return all
}

// words are the type and the operation.
func (c Case) words() string { return c.Call.DType.Name + " " + string(c.Call.Op) }

// sameCandidate reports whether two cases of a group would be measured twice.
func (c Case) sameCandidate(other Case) bool {
	return c.Algorithm.Name == other.Algorithm.Name && c.Requested == other.Requested && c.Call.Blocks == other.Call.Blocks
}
