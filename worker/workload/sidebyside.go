package workload

import (
	"cmp"
	"slices"
)

// SideBySide groups the cases that differ in algorithm and grid alone: type by type and
// operation by operation, first out of place and then in place, and by size. Sizes that lead
// to the same call are measured once.
func (p Plan) SideBySide() [][]Case {
	var order []string // of types with operations, as in the job
	tasks := map[string][]Case{}
	for _, c := range p.Cases {
		if w := c.typeAndOp(); !slices.Contains(order, w) {
			order = append(order, w)
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
			cmp.Compare(slices.Index(order, a[0].typeAndOp()), slices.Index(order, b[0].typeAndOp())),
			cmp.Compare(place[a[0].InPlace], place[b[0].InPlace]),
			cmp.Compare(a[0].Bytes(), b[0].Bytes()))
	})
	return all
}

// typeAndOp names the element type and the operation.
func (c Case) typeAndOp() string { return c.Call.DType.Name + " " + string(c.Call.Op) }

// sameCandidate reports whether two cases of a group would be measured twice.
func (c Case) sameCandidate(other Case) bool {
	return c.Algorithm.Name == other.Algorithm.Name && c.Requested == other.Requested && c.Call.Blocks == other.Call.Blocks
}
