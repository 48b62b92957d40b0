package litmus

import "fmt"

// cell is a value of a memory.
type cell struct {
	memory int
	value  int64
}

// cells is a set of cells, by number.
type cells [4]uint64

func (c *cells) add(n int) { c[n/64] |= 1 << (n % 64) }

func (c cells) union(d cells) cells {
	for i := range c {
		c[i] |= d[i]
	}
	return c
}

func (c cells) without(d cells) cells {
	for i := range c {
		c[i] &^= d[i]
	}
	return c
}

// choice is a trace with what it reads and what it writes.
type choice struct {
	*trace
	needs, writes cells
}

// combiner chooses a trace for each thread so that every read finds its value.
type combiner struct {
	*explorer
	numbers map[cell]int
	choices [][]choice // of each thread
	// later is what the threads from a number on may write, in any of their traces.
	later  []cells
	chosen []*trace
}

// combine explores all combinations of traces.
func (x *explorer) combine(all [][]trace) error {
	c := &combiner{explorer: x, numbers: map[cell]int{}, later: make([]cells, len(all)+1)}
	var initial cells
	for memory := range x.values {
		for _, v := range x.values.of(memory) {
			n := len(c.numbers)
			if n >= len(initial)*64 {
				return fmt.Errorf("memory has more than %d different values; shorten the test", n)
			}
			c.numbers[cell{memory, v}] = n
			if v == x.test.Locations[memory].Initial {
				initial.add(n)
			}
		}
	}
	c.choices = make([][]choice, len(all))
	for thread := len(all) - 1; thread >= 0; thread-- {
		c.later[thread] = c.later[thread+1]
		for i := range all[thread] {
			n := choice{trace: &all[thread][i]}
			for _, e := range n.events {
				switch e.kind {
				case read:
					n.needs.add(c.number(e))
				case write:
					n.writes.add(c.number(e))
				}
			}
			c.choices[thread] = append(c.choices[thread], n)
			c.later[thread] = c.later[thread].union(n.writes)
		}
	}
	x.count = 0
	if err := c.choose(cells{}, initial); err != nil {
		return err
	}
	return c.enough()
}

// number is that of the cell which an access reads or writes.
func (c *combiner) number(e event) int {
	return c.numbers[cell{c.test.Locations[e.location].Memory, e.value}]
}

// choose chooses the traces of the threads that have none.
func (c *combiner) choose(needs, writes cells) error {
	thread := len(c.chosen)
	if thread == len(c.choices) {
		return c.candidate(c.chosen)
	}
	for i := range c.choices[thread] {
		if !c.spend() {
			return c.enough()
		}
		n := &c.choices[thread][i]
		needs, writes := needs.union(n.needs), writes.union(n.writes)
		if needs.without(writes.union(c.later[thread+1])) != (cells{}) {
			continue
		}
		c.chosen = append(c.chosen, n.trace)
		err := c.choose(needs, writes)
		c.chosen = c.chosen[:thread]
		if err != nil {
			return err
		}
	}
	return nil
}
