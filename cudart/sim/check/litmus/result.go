package litmus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Result is what the model allows a test to do.
type Result struct {
	Test *Test
	// States are those in which the test can end and that its filter accepts, sorted.
	States []State
	// Races are pairs of instructions that race in at least one execution.
	Races []Race
	// Executions counts the allowed ones.
	Executions int
	// Holds is the verdict on the condition, as quantified. Witness is a state that shows it, or that refutes it.
	Holds   bool
	Witness *State
	// Bounded is set if executions with more iterations of a loop were left out, and Deadlock if threads can wait for
	// ever at a barrier. Such executions have no final state.
	Bounded, Deadlock bool
}

// Race is two accesses to the same memory, one of them a write, that are neither morally strong nor ordered by
// causality. The first is of the thread with the lower number.
type Race struct {
	First, Second *Instruction
	Threads       [2]int
	// Sequential is set if they race also where threads take turns and each read returns the last write.
	Sequential bool
}

// report adds an allowed execution to the result.
func (x *execution) report() {
	x.result.Executions++
	if x.allowed != nil {
		x.allowed(x)
	}
	s := State{Memory: make([]int64, len(x.test.Locations))}
	for _, t := range x.traces {
		s.Registers = append(s.Registers, t.registers)
	}
	x.finals(s, 0)
	x.findRaces()
}

// finals adds the states with each value that a last write of each memory gives it. Writes that are not ordered are
// all last.
func (x *execution) finals(s State, location int) {
	if location == len(x.test.Locations) {
		x.addState(s)
		return
	}
	if !x.spend() {
		return
	}
	if memory := x.test.Locations[location].Memory; memory != location {
		s.Memory[location] = s.Memory[memory]
		x.finals(s, location+1)
		return
	}
	x.writes.each(func(w int) {
		if x.test.Locations[x.events[w].location].Memory == location && x.co[w] == 0 {
			s.Memory[location] = x.events[w].value
			x.finals(s, location+1)
		}
	})
}

func (x *execution) addState(s State) {
	if f := x.test.Filter; f != nil && !f.holds(&s) {
		return
	}
	key := fmt.Sprint(s)
	if _, known := x.states[key]; !known {
		x.states[key] = len(x.result.States)
		s.Memory = slices.Clone(s.Memory)
		x.result.States = append(x.result.States, s)
	}
}

// racing lists the pairs of events that race in an execution.
func (x *execution) racing() (pairs [][2]int) {
	x.memory.each(func(a int) {
		(x.loc[a] & x.memory).each(func(b int) {
			ea, eb := &x.events[a], &x.events[b]
			reads := ea.kind == read && eb.kind == read
			if ea.thread >= 0 && ea.thread < eb.thread && !reads && !x.strong.has(a, b) && !x.ordered(a, b) {
				pairs = append(pairs, [2]int{a, b})
			}
		})
	})
	return pairs
}

// ordered reports whether causality orders two events. An atomic operation is one operation for that: who has observed
// its write is behind its read as well.
func (x *execution) ordered(a, b int) bool {
	for _, p := range x.operation(a) {
		for _, q := range x.operation(b) {
			if x.cause.has(p, q) || x.cause.has(q, p) {
				return true
			}
		}
	}
	return false
}

// operation is an event, with the other half of an atomic operation.
func (x *execution) operation(e int) []int {
	switch {
	case x.rmw[e] != 0:
		return []int{e, e + 1}
	case e > 0 && x.rmw.has(e-1, e):
		return []int{e - 1, e}
	}
	return []int{e}
}

// findRaces adds the races of an execution.
func (x *execution) findRaces() {
	var found []int
	for _, pair := range x.racing() {
		a, b := &x.events[pair[0]], &x.events[pair[1]]
		key := [2]*Instruction{a.in, b.in}
		at, known := x.races[key]
		if !known {
			at = len(x.result.Races)
			x.races[key] = at
			x.result.Races = append(x.result.Races, Race{First: a.in, Second: b.in, Threads: [2]int{a.thread, b.thread}})
		}
		if !x.result.Races[at].Sequential {
			found = append(found, at)
		}
	}
	if len(found) > 0 && x.sequential() {
		for _, at := range found {
			x.result.Races[at].Sequential = true
		}
	}
}

// judge sorts states and races and decides the condition.
func (r *Result) judge() {
	slices.SortFunc(r.States, func(a, b State) int {
		for i := range a.Registers {
			if c := slices.Compare(a.Registers[i], b.Registers[i]); c != 0 {
				return c
			}
		}
		return slices.Compare(a.Memory, b.Memory)
	})
	slices.SortFunc(r.Races, func(a, b Race) int {
		return cmp.Or(slices.Compare(a.Threads[:], b.Threads[:]), a.First.Line-b.First.Line, a.Second.Line-b.Second.Line)
	})
	t := r.Test
	if t.Condition == nil {
		r.Holds = true
		return
	}
	r.Holds = t.Quantifier != Exists
	for i := range r.States {
		if t.Condition.holds(&r.States[i]) != (t.Quantifier == ForAll) {
			r.Holds, r.Witness = !r.Holds, &r.States[i]
			return
		}
	}
}

// Describe is a state in the words of a test: "P0:r0=1; P1:r0=0; x=2".
func (s *State) Describe(t *Test) string {
	var parts []string
	for i, thread := range t.Threads {
		for j, r := range thread.Registers {
			parts = append(parts, fmt.Sprintf("%s:%s=%d", thread.Name, r.Name, s.Registers[i][j]))
		}
	}
	for i, l := range t.Locations {
		if l.Memory == i {
			parts = append(parts, fmt.Sprintf("%s=%d", l.Name, s.Memory[i]))
		}
	}
	return strings.Join(parts, "; ")
}
