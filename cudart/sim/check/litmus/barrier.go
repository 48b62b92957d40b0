package litmus

import (
	"fmt"
	"slices"
)

// meeting is the barrier at which threads of a CTA meet.
type meeting struct {
	cta, gpu        int
	static          bool
	instruction, id int64
}

// way is one in which arrivals at barriers synchronize.
type way struct {
	sync relation // from an arrival to the waits that it lets go on
	ends relation // from the last event of a thread to a wait that goes on because the thread has ended
}

// synchronize lists the ways in which the barriers of a candidate may synchronize: for each, which arrival is ordered
// before which wait. There is none if a thread waits for ever.
func (c *candidate) synchronize() ([]relation, error) {
	groups := map[meeting][][]int{} // the events of each thread
	var order []meeting
	for i, e := range c.events {
		if e.kind != barrier {
			continue
		}
		t := &c.test.Threads[e.thread]
		key := meeting{t.CTA, t.GPU, e.barrier.form.Static, e.barrier.instruction, e.barrier.id}
		if groups[key] == nil {
			groups[key] = make([][]int, len(c.test.Threads))
			order = append(order, key)
		}
		groups[key][e.thread] = append(groups[key][e.thread], i)
	}
	all := []way{{c.relation(), c.relation()}}
	for _, key := range order {
		ways, err := c.ways(key, groups[key])
		if err != nil {
			return nil, err
		}
		var next []way
		for _, a := range all {
			for _, b := range ways {
				if !c.spend() {
					return nil, c.enough()
				}
				next = append(next, way{a.sync.union(b.sync), a.ends.union(b.ends)})
			}
		}
		all = next
	}
	var possible []relation
	for _, w := range all {
		if c.po.then(w.sync.union(w.ends)).union(w.ends).acyclic() {
			possible = append(possible, w.sync)
		}
	}
	return possible, nil
}

// ways lists how the arrivals at one barrier may synchronize.
func (c *candidate) ways(key meeting, arrivals [][]int) ([]way, error) {
	count := int64(-1)
	for _, events := range arrivals {
		for _, e := range events {
			n := c.events[e].barrier.count
			if count >= 0 && n != count {
				return nil, fmt.Errorf("line %d: barrier %d is used with %d and with %d threads; give one number",
					c.events[e].in.Line, key.id, count, n)
			}
			count = n
		}
	}
	switch {
	case count == 0:
		return c.rounds(key, arrivals), nil
	case key.static:
		return c.subsets(arrivals, int(count)), nil
	}
	return c.generations(arrivals, int(count)), nil
}

// rounds lets the first arrivals of all threads synchronize, then the second ones, and so on. A thread that has ended
// takes part no more; with bar.cta, a thread that has the instruction and does not reach it is waited for.
func (c *candidate) rounds(key meeting, arrivals [][]int) []way {
	out := way{c.relation(), c.relation()}
	for round := 0; ; round++ {
		var met, absent []int
		missing := false
		for thread, events := range arrivals {
			if round < len(events) {
				met = append(met, events[round])
			} else if key.static && (len(events) > 0 || c.waitedFor(key, thread)) {
				missing = true
			} else if last := c.lastOf(key, thread); last >= 0 {
				absent = append(absent, last)
			}
		}
		switch {
		case len(met) == 0:
			return []way{out}
		case missing && c.anyWaits(met):
			return nil
		}
		c.meet(out.sync, met, met)
		c.meet(out.ends, absent, met)
	}
}

// lastOf is the last event of a thread that bar.sync would wait for, or -1.
func (c *candidate) lastOf(key meeting, thread int) int {
	last := -1
	if t := &c.test.Threads[thread]; key.static || t.CTA != key.cta || t.GPU != key.gpu {
		return last
	}
	for i, e := range c.events {
		if e.thread == thread {
			last = i
		}
	}
	return last
}

// waitedFor reports whether a thread has an instruction of a barrier that has a number and no other operand.
func (c *candidate) waitedFor(key meeting, thread int) bool {
	t := &c.test.Threads[thread]
	if key.id >= 0 || t.CTA != key.cta || t.GPU != key.gpu {
		return false
	}
	for _, in := range t.Code {
		if in.Opcode == Barrier && in.Barrier.Static && len(in.Operands) == 1 && in.Operands[0].Register < 0 &&
			in.Operands[0].Value == key.instruction {
			return true
		}
	}
	return false
}

func (c *candidate) anyWaits(events []int) bool {
	for _, e := range events {
		if !c.events[e].barrier.form.Arrive {
			return true
		}
	}
	return false
}

// meet orders arrivals before the waits of others.
func (c *candidate) meet(out relation, arrivals, others []int) {
	for _, a := range arrivals {
		for _, b := range others {
			if a != b && !c.events[b].barrier.form.Arrive {
				out.add(a, b)
			}
		}
	}
}

// subsets lets so many arrivals be known to all that wait, any ones of different threads: dartagnan's quorum.
func (c *candidate) subsets(arrivals [][]int, count int) []way {
	var out []way
	all := slices.Concat(arrivals...)
	var choose func(thread int, met []int)
	choose = func(thread int, met []int) {
		if len(met) == count {
			r := c.relation()
			c.meet(r, met, all)
			out = append(out, way{r, c.relation()})
			return
		}
		if thread == len(arrivals) || !c.spend() {
			return
		}
		for _, e := range arrivals[thread] {
			choose(thread+1, append(met[:len(met):len(met)], e))
		}
		choose(thread+1, met)
	}
	choose(0, nil)
	return out
}

// generations lets so many arrivals synchronize, then as many again, until no thread waits. Arrivals by bar.arrive may
// be left at the end.
func (c *candidate) generations(arrivals [][]int, count int) []way {
	var out []way
	next := make([]int, len(arrivals))
	var fill func(done relation, met []int, thread int)
	fill = func(done relation, met []int, thread int) {
		if !c.spend() {
			return
		}
		if len(met) == count {
			done = done.clone()
			c.meet(done, met, met)
			met, thread = nil, 0
		}
		if !c.anyWaits(met) && c.allArrived(arrivals, next) {
			out = append(out, way{done, c.relation()})
			return
		}
		for ; thread < len(arrivals); thread++ {
			if next[thread] < len(arrivals[thread]) {
				e := arrivals[thread][next[thread]]
				next[thread]++
				fill(done, append(met[:len(met):len(met)], e), thread+1)
				next[thread]--
			}
		}
	}
	fill(c.relation(), nil, 0)
	return out
}

func (c *candidate) allArrived(arrivals [][]int, next []int) bool {
	for thread, n := range next {
		if n < len(arrivals[thread]) {
			return false
		}
	}
	return true
}
