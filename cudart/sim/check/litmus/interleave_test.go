package litmus

import (
	"fmt"
	"slices"
)

// interleave lists the states in which a test ends whose threads take turns, with memory in order, and reports whether
// threads can wait for ever at a barrier. It executes instructions one after the other and knows nothing of events and
// relations. Tests with loops are left out: then ok is false.
func interleave(t *Test) (ends []State, stuck, ok bool) {
	m := &machine{test: t, shared: &seenStates{known: map[string]bool{}}}
	for _, thread := range t.Threads {
		var all []int64
		for _, r := range thread.Registers {
			all = append(all, r.Initial)
		}
		m.registers = append(m.registers, all)
		for at, in := range thread.Code {
			if in.Opcode == Branch && in.Target <= at {
				return nil, false, false
			}
		}
	}
	for _, l := range t.Locations {
		m.memory = append(m.memory, l.Initial)
	}
	m.at, m.waits = make([]int, len(t.Threads)), make([]bool, len(t.Threads))
	m.run()
	return m.shared.ends, m.shared.stuck, true
}

// machine is a state of the threads.
type machine struct {
	test      *Test
	at        []int
	waits     []bool // at a barrier
	registers [][]int64
	memory    []int64
	barriers  []roundOf
	shared    *seenStates
}

// seenStates is what all states have found.
type seenStates struct {
	known map[string]bool
	ends  []State
	stuck bool
}

func (m *machine) run() {
	key := fmt.Sprint(m.at, m.waits, m.registers, m.memory, m.barriers)
	if m.shared.known[key] {
		return
	}
	m.shared.known[key] = true
	ended, stuck := true, true
	for thread := range m.at {
		if m.ended(thread) {
			continue
		}
		ended = false
		if m.waits[thread] {
			continue
		}
		stuck = false
		next := &machine{
			test: m.test, shared: m.shared, at: slices.Clone(m.at), waits: slices.Clone(m.waits),
			memory: slices.Clone(m.memory),
		}
		for _, r := range m.registers {
			next.registers = append(next.registers, slices.Clone(r))
		}
		for _, r := range m.barriers {
			r.arrived = slices.Clone(r.arrived)
			next.barriers = append(next.barriers, r)
		}
		next.step(thread)
		next.open()
		next.run()
	}
	switch {
	case ended:
		m.end()
	case stuck:
		m.shared.stuck = true
	}
}

func (m *machine) ended(thread int) bool {
	return m.at[thread] == len(m.test.Threads[thread].Code) && !m.waits[thread]
}

// end adds the state to those in which the test ends, if its filter accepts it.
func (m *machine) end() {
	s := State{Registers: m.registers}
	for _, l := range m.test.Locations {
		s.Memory = append(s.Memory, m.memory[l.Memory])
	}
	if f := m.test.Filter; f == nil || f.holds(&s) {
		m.shared.ends = append(m.shared.ends, s)
	}
}

func (m *machine) step(thread int) {
	in := &m.test.Threads[thread].Code[m.at[thread]]
	m.at[thread]++
	value := func(i int) int64 {
		if o := in.Operands[i]; o.Register >= 0 {
			return m.registers[thread][o.Register]
		}
		return in.Operands[i].Value
	}
	var result int64
	memory := &m.memory[m.test.Locations[in.Location].Memory]
	switch in.Opcode {
	case Move:
		result = value(0)
	case Arithmetic:
		result, _ = calculate(in.Operation, value(0), value(1))
	case Load:
		result = *memory
	case Store:
		*memory = value(0)
	case Atomic:
		switch result = *memory; {
		case in.Operation == "exch":
			*memory = value(0)
		case in.Operation == "cas" && result == value(0):
			*memory = value(1)
		case in.Operation != "cas":
			*memory, _ = calculate(in.Operation, result, value(0))
		}
	case Barrier:
		m.arrive(thread, in, value)
	case Branch:
		if in.Operation == "" || comparison(in.Operation, value(0), value(1)) {
			m.at[thread] = in.Target
		}
	}
	if in.Register >= 0 {
		m.registers[thread][in.Register] = result
	}
}
