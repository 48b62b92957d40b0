package litmus

import "fmt"

// candidate is a trace of each thread, with the relations that no choice changes.
type candidate struct {
	*explorer
	traces []*trace
	events []event // the initial write of each memory, then the threads

	reads, writes, memory set
	po                    relation // program order
	loc, vloc             relation // same memory; same address of the generic proxy
	strong                relation // morally strong
	rmw                   relation // the read and the write of an atomic operation
	released, acquired    relation // release patterns and acquire patterns, from their first to their last operation
	depends               relation
	barriers              []relation // ways in which barriers may synchronize
}

// candidate explores one combination of traces.
func (x *explorer) candidate(traces []*trace) error {
	c := &candidate{explorer: x, traces: traces}
	for i, l := range x.test.Locations {
		if l.Memory == i {
			c.events = append(c.events, event{kind: write, thread: -1, proxy: Generic, location: i, value: l.Initial})
		}
	}
	initial := len(c.events)
	for _, t := range traces {
		c.events = append(c.events, t.events...)
	}
	if len(c.events) > maxEvents {
		return fmt.Errorf("an execution has more than %d events; shorten the test", maxEvents)
	}
	c.order(initial)
	c.relate()
	c.patterns()
	var err error
	if c.barriers, err = c.synchronize(); err != nil {
		return err
	}
	if len(c.barriers) == 0 {
		x.result.Deadlock = true
		return nil
	}
	return c.readFrom()
}

func (c *candidate) relation() relation { return make(relation, len(c.events)) }

// order fills in the relations within threads.
func (c *candidate) order(first int) {
	c.po, c.rmw, c.depends = c.relation(), c.relation(), c.relation()
	for _, t := range c.traces {
		for i, e := range t.events {
			for j := range i {
				c.po.add(first+j, first+i)
			}
			e.depends.each(func(r int) { c.depends.add(first+r, first+i) })
			if e.kind == write && e.update {
				c.rmw.add(first+i-1, first+i)
			}
		}
		first += len(t.events)
	}
}

// relate fills in the relations between events of all threads.
func (c *candidate) relate() {
	for i, e := range c.events {
		switch e.kind {
		case read:
			c.reads |= 1 << i
		case write:
			c.writes |= 1 << i
		}
	}
	c.memory = c.reads | c.writes
	c.loc, c.vloc, c.strong = c.relation(), c.relation(), c.relation()
	for i, a := range c.events {
		for j, b := range c.events {
			both := c.memory.has(i) && c.memory.has(j)
			if both {
				c.place(i, j)
			}
			near := c.po.has(i, j) || c.po.has(j, i) || c.includes(a, b) && c.includes(b, a)
			if i != j && near && a.proxy == b.proxy && a.proxy != NoProxy && (!both || c.vloc.has(i, j)) {
				c.strong.add(i, j)
			}
		}
	}
}

// place relates two accesses to the same memory, or address.
func (c *candidate) place(i, j int) {
	a, b := c.test.Locations[c.events[i].location], c.test.Locations[c.events[j].location]
	if a.Memory == b.Memory {
		c.loc.add(i, j)
	}
	if a.Generic == b.Generic {
		c.vloc.add(i, j)
	}
}

// includes reports whether the scope of a includes the thread of b. Weak operations have none, as initial writes have.
func (c *candidate) includes(a, b event) bool {
	if a.scope == NoScope || b.scope == NoScope {
		return false
	}
	ta, tb := &c.test.Threads[a.thread], &c.test.Threads[b.thread]
	return a.scope == System || ta.GPU == tb.GPU && (a.scope == GPU || ta.CTA == tb.CTA)
}

// sameCTA reports whether two events are of threads of the same CTA.
func (c *candidate) sameCTA(a, b int) bool {
	x, y := c.events[a].thread, c.events[b].thread
	if x < 0 || y < 0 {
		return false
	}
	return c.test.Threads[x].CTA == c.test.Threads[y].CTA && c.test.Threads[x].GPU == c.test.Threads[y].GPU
}

// where is the set of events that satisfy a condition.
func (c *candidate) where(f func(e *event) bool) set {
	var s set
	for i := range c.events {
		if f(&c.events[i]) {
			s |= 1 << i
		}
	}
	return s
}

// patterns finds release and acquire patterns: a release, and a later strong write of the same thread to the same
// address, or a fence with any later strong write; and the mirror image. The read of red begins no acquire pattern.
func (c *candidate) patterns() {
	strongWrites := c.where(func(e *event) bool { return e.kind == write && e.order != Weak })
	strongReads := c.where(func(e *event) bool { return e.kind == read && e.order != Weak && e.in.Register >= 0 })
	releases := c.where(func(e *event) bool { return e.kind == write && e.order.releases() })
	acquires := c.where(func(e *event) bool { return e.kind == read && e.order.acquires() })
	releasing := c.where(func(e *event) bool { return e.kind == fence && e.order.releases() })
	acquiring := c.where(func(e *event) bool { return e.kind == fence && e.order.acquires() })
	nearby := c.po.intersect(c.vloc).optional(c.memory)
	c.released = nearby.from(releases).to(strongWrites).union(c.po.from(releasing).to(strongWrites))
	c.acquired = nearby.from(strongReads).to(acquires).union(c.po.from(strongReads).to(acquiring))
}
