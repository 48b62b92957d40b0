package litmus

// Condition is a proposition about a state.
type Condition interface{ holds(s *State) bool }

// State is one in which threads can end: the values of all registers of each thread, and of each location.
type State struct {
	Registers [][]int64
	Memory    []int64 // by location; of an alias, the value of its memory
}

type (
	both    struct{ left, right Condition }
	either  struct{ left, right Condition }
	negated struct{ of Condition }
	compare struct {
		operation   string // eq, ne, lt, gt, le or ge
		left, right term
	}
)

func (c both) holds(s *State) bool    { return c.left.holds(s) && c.right.holds(s) }
func (c either) holds(s *State) bool  { return c.left.holds(s) || c.right.holds(s) }
func (c negated) holds(s *State) bool { return !c.of.holds(s) }
func (c compare) holds(s *State) bool {
	return comparison(c.operation, c.left.value(s), c.right.value(s))
}

// term is a register of a thread, a location where thread is -1, or a number where index is -1.
type term struct {
	thread, index int
	number        int64
}

func (t term) value(s *State) int64 {
	switch {
	case t.index < 0:
		return t.number
	case t.thread < 0:
		return s.Memory[t.index]
	}
	return s.Registers[t.thread][t.index]
}

// comparison is what the branches and the conditions compare.
func comparison(operation string, a, b int64) bool {
	switch operation {
	case "eq":
		return a == b
	case "ne":
		return a != b
	case "lt":
		return a < b
	case "gt":
		return a > b
	case "le":
		return a <= b
	}
	return a >= b
}
