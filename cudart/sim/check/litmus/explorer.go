package litmus

import (
	"cmp"
	"fmt"
	"slices"
)

// Options bound what is explored.
type Options struct {
	// Unroll is how often an instruction may jump backwards; 0 is 2. Longer runs are left out, and the result says so.
	Unroll int
	// Most is how many runs of threads, and how many executions, are considered at most; 0 is 10,000,000.
	Most int
}

// explorer enumerates the candidate executions of a test and keeps those that the model allows.
type explorer struct {
	test    *Test
	options Options
	values  [][]int64 // that each memory may have, by location
	count   int
	bounded bool // some run was longer than Options.Unroll allows
	result  *Result
	states  map[string]int // index in result.States
	races   map[[2]*Instruction]int
}

// Explore enumerates all executions of a test that the memory model allows, and judges its condition.
func Explore(t *Test, o Options) (*Result, error) {
	o.Unroll, o.Most = cmp.Or(o.Unroll, 2), cmp.Or(o.Most, 10_000_000)
	x := &explorer{
		test: t, options: o, result: &Result{Test: t}, states: map[string]int{}, races: map[[2]*Instruction]int{},
	}
	traces, err := x.allTraces()
	if err != nil {
		return nil, err
	}
	if err := x.combine(traces); err != nil {
		return nil, err
	}
	x.result.Bounded = x.bounded
	x.result.judge()
	return x.result, nil
}

func (x *explorer) tooMany() error {
	return fmt.Errorf("more than %d candidates; shorten the test, or bound its loops", x.options.Most)
}

// allTraces lists the traces of each thread. The values that memory may have are found by iteration: those that a
// thread writes when it reads known ones. Each step adds a write to a chain in which every write depends on the one
// before, and the writes of an execution bound the length of such a chain.
func (x *explorer) allTraces() ([][]trace, error) {
	rounds := 1
	for _, t := range x.test.Threads {
		for _, in := range t.Code {
			if in.Opcode == Store || in.Opcode == Atomic {
				rounds++
			}
		}
	}
	x.values = make([][]int64, len(x.test.Locations))
	for i, l := range x.test.Locations {
		if l.Memory == i {
			x.values[i] = []int64{l.Initial}
		}
	}
	for {
		x.count, x.bounded = 0, false
		all := make([][]trace, len(x.test.Threads))
		for i := range x.test.Threads {
			w, err := x.traces(i)
			if err != nil {
				return nil, err
			}
			all[i] = w.out
		}
		if rounds--; rounds < 0 || !x.learn(all) {
			return all, nil
		}
	}
}

// learn adds the values that traces write, and reports whether there are new ones.
func (x *explorer) learn(all [][]trace) bool {
	more := false
	for _, traces := range all {
		for _, t := range traces {
			for _, e := range t.events {
				if e.kind != write {
					continue
				}
				values := &x.values[x.test.Locations[e.location].Memory]
				if at, known := slices.BinarySearch(*values, e.value); !known {
					*values, more = slices.Insert(*values, at, e.value), true
				}
			}
		}
	}
	return more
}
