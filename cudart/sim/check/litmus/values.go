package litmus

import (
	"maps"
	"slices"
)

// values are those that each memory may have, by location. For each it keeps the length of the shortest chain of writes
// that leads to it: every write of a chain computes its value from the one before, in memory that depends on itself.
// An execution has no longer chain than it has writes there. So a counter that two threads increment has two values
// more than its initial one, although each of them increments whatever it reads.
type values []map[int64]int

func newValues(t *Test) values {
	v := make(values, len(t.Locations))
	for i, l := range t.Locations {
		v[i] = map[int64]int{}
		if l.Memory == i {
			v[i][l.Initial] = 0
		}
	}
	return v
}

// of lists the values of a memory in order.
func (v values) of(memory int) []int64 { return slices.Sorted(maps.Keys(v[memory])) }

// learn adds the values that traces write, and reports whether it has learned anything.
func (v values) learn(t *Test, all [][]trace) bool {
	mutual, bounds := mutualMemory(t, all)
	more := false
	for _, traces := range all {
		for _, trace := range traces {
			for _, e := range trace.events {
				if e.kind != write {
					continue
				}
				memory, length := t.Locations[e.location].Memory, 1
				e.data.each(func(r int) {
					from := &trace.events[r]
					if m := t.Locations[from.location].Memory; mutual[memory][m] {
						length = max(length, v[m][from.value]+1)
					}
				})
				known, ok := v[memory][e.value]
				if length <= bounds[memory] && (!ok || length < known) {
					v[memory][e.value], more = length, true
				}
			}
		}
	}
	return more
}

// mutualMemory tells which memories depend on one another, or on themselves, and how many writes all threads together
// make at most to those of which each is one.
func mutualMemory(t *Test, all [][]trace) (mutual [][]bool, bounds []int) {
	n := len(t.Locations)
	reaches := make([][]bool, n) // from a memory to those whose values are computed from it
	for i := range reaches {
		reaches[i] = make([]bool, n)
	}
	for _, traces := range all {
		for _, trace := range traces {
			for _, e := range trace.events {
				e.data.each(func(r int) {
					reaches[t.Locations[trace.events[r].location].Memory][t.Locations[e.location].Memory] = true
				})
			}
		}
	}
	for via := range n {
		for a := range n {
			for b := range n {
				reaches[a][b] = reaches[a][b] || reaches[a][via] && reaches[via][b]
			}
		}
	}
	mutual, bounds = make([][]bool, n), make([]int, n)
	for a := range n {
		mutual[a] = make([]bool, n)
		for b := range n {
			mutual[a][b] = reaches[a][b] && reaches[b][a]
		}
	}
	for memory := range n {
		bounds[memory] = mostWrites(t, all, func(m int) bool { return m == memory || mutual[memory][m] })
	}
	return mutual, bounds
}

// mostWrites is how many writes to some memories all threads together make at most.
func mostWrites(t *Test, all [][]trace, counts func(memory int) bool) int {
	sum := 0
	for _, traces := range all {
		most := 0
		for _, trace := range traces {
			n := 0
			for _, e := range trace.events {
				if e.kind == write && counts(t.Locations[e.location].Memory) {
					n++
				}
			}
			most = max(most, n)
		}
		sum += most
	}
	return sum
}
