package litmus

import (
	"fmt"
	"slices"
)

// interleave lists the states in which a test ends whose threads take turns, with memory in order. It executes
// instructions one after the other and knows nothing of events and relations. Tests with barriers, loops or a filter
// are left out.
func interleave(t *Test) []State {
	m := &machine{test: t, seen: map[string]bool{}}
	for _, thread := range t.Threads {
		var all []int64
		for _, r := range thread.Registers {
			all = append(all, r.Initial)
		}
		m.registers = append(m.registers, all)
		for at, in := range thread.Code {
			if in.Opcode == Barrier || in.Opcode == Branch && in.Target <= at {
				return nil
			}
		}
	}
	for _, l := range t.Locations {
		m.memory = append(m.memory, l.Initial)
	}
	m.at = make([]int, len(t.Threads))
	m.run()
	return m.ends
}

type machine struct {
	test      *Test
	at        []int
	registers [][]int64
	memory    []int64
	seen      map[string]bool
	ends      []State
}

func (m *machine) run() {
	key := fmt.Sprint(m.at, m.registers, m.memory)
	if m.seen[key] {
		return
	}
	m.seen[key] = true
	ended := true
	for thread := range m.at {
		if m.at[thread] == len(m.test.Threads[thread].Code) {
			continue
		}
		ended = false
		next := &machine{test: m.test, seen: m.seen, at: slices.Clone(m.at), memory: slices.Clone(m.memory)}
		for _, r := range m.registers {
			next.registers = append(next.registers, slices.Clone(r))
		}
		next.step(thread)
		next.run()
		m.ends = append(m.ends, next.ends...)
	}
	if ended {
		s := State{Registers: m.registers}
		for _, l := range m.test.Locations {
			s.Memory = append(s.Memory, m.memory[l.Memory])
		}
		m.ends = append(m.ends, s)
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
	case Branch:
		if in.Operation == "" || comparison(in.Operation, value(0), value(1)) {
			m.at[thread] = in.Target
		}
	}
	if in.Register >= 0 {
		m.registers[thread][in.Register] = result
	}
}
