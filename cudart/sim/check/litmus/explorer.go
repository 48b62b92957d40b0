package litmus

import (
	"cmp"
	"fmt"
)

// Options bound what is explored.
type Options struct {
	// Unroll is how often an instruction may jump backwards; 0 is 2. Longer runs are left out, and the result says so.
	Unroll int
	// Most is how many choices are made at most, for runs of threads and then for executions; 0 is 10,000,000.
	Most int
}

// explorer enumerates the candidate executions of a test and keeps those that the model allows.
type explorer struct {
	test    *Test
	options Options
	values  values
	count   int
	bounded bool // some run was longer than Options.Unroll allows
	result  *Result
	states  map[string]int // index in result.States
	races   map[[2]*Instruction]int
	allowed func(x *execution) // is called with each allowed execution, where it is not nil
}

// Explore enumerates all executions of a test that the memory model allows, and judges its condition.
func Explore(t *Test, o Options) (*Result, error) { return explore(t, o, nil) }

func explore(t *Test, o Options, allowed func(x *execution)) (*Result, error) {
	o.Unroll, o.Most = cmp.Or(o.Unroll, 2), cmp.Or(o.Most, 10_000_000)
	x := &explorer{
		test: t, options: o, result: &Result{Test: t}, states: map[string]int{}, races: map[[2]*Instruction]int{},
		allowed: allowed,
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

// spend counts a choice, and reports whether there may be more.
func (x *explorer) spend() bool {
	x.count++
	return x.count <= x.options.Most
}

// enough is an error if too many choices were made.
func (x *explorer) enough() error {
	if x.count > x.options.Most {
		return fmt.Errorf("there are more than %d choices; shorten the test, or bound its loops", x.options.Most)
	}
	return nil
}

// allTraces lists the traces of each thread, with all values that memory may have.
func (x *explorer) allTraces() ([][]trace, error) {
	x.values = newValues(x.test)
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
		if !x.values.learn(x.test, all) {
			return all, nil
		}
	}
}
