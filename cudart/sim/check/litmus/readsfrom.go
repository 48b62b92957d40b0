package litmus

// execution is a candidate with choices: from which write each read gets its value, how barriers synchronize, in which
// order fence.sc are, and in which order writes are.
type execution struct {
	*candidate
	rf       relation // from a write to the reads that return its value
	observed relation // observation order: from a strong write to strong reads, also by way of atomic operations
	barrier  relation
	fences   relation // order of morally strong fence.sc
	base     relation // base causality order
	cause    relation // causality order
	co       relation // coherence order, partial
}

// readFrom explores all choices of writes for the reads.
func (c *candidate) readFrom() error {
	var reads []int
	c.reads.each(func(r int) { reads = append(reads, r) })
	rf := c.relation()
	var choose func(n int) error
	choose = func(n int) error {
		if n == len(reads) {
			if !rf.union(c.depends).acyclic() { // axiom No-Thin-Air
				return nil
			}
			c.execute(rf)
			return c.enough()
		}
		r := reads[n]
		var err error
		(c.writes & c.loc[r]).each(func(w int) {
			if err == nil && c.spend() && c.events[w].value == c.events[r].value && !c.rmw.has(r, w) {
				rf.add(w, r)
				err = choose(n + 1)
				rf[w] &^= 1 << r
			}
		})
		return err
	}
	return choose(0)
}

// execute explores the order of fences and of writes for one choice of writes for the reads.
func (c *candidate) execute(rf relation) {
	x := execution{candidate: c, rf: rf.clone()}
	seen := c.strong.intersect(rf)
	x.observed = seen.then(c.rmw.then(seen).closure().optional(c.reads))
	synchronizes := c.released.then(x.observed).then(c.acquired).intersect(c.strong)
	for _, x.barrier = range c.barriers {
		x.eachFenceOrder(func(fences relation) {
			x.fences = fences
			if x.causality(synchronizes) && x.rf.then(x.cause).irreflexive() {
				x.coherence()
			}
		})
	}
}

// eachFenceOrder calls f for each order of the pairs of morally strong fence.sc of different threads.
func (x *execution) eachFenceOrder(f func(fences relation)) {
	sc := x.where(func(e *event) bool { return e.kind == fence && e.order == SequentiallyConsistent })
	var pairs [][2]int
	sc.each(func(a int) {
		(x.strong[a] & sc).each(func(b int) {
			if a < b && x.events[a].thread != x.events[b].thread {
				pairs = append(pairs, [2]int{a, b})
			}
		})
	})
	var choose func(n int, order relation)
	choose = func(n int, order relation) {
		if n == len(pairs) {
			f(order)
			return
		}
		if !x.spend() {
			return
		}
		a, b := pairs[n][0], pairs[n][1]
		for range 2 {
			if next := order.clone(); !next.has(b, a) {
				next.add(a, b)
				if next = next.union(x.po.from(sc).to(sc)).closure(); next.irreflexive() {
					choose(n+1, next)
				}
			}
			a, b = b, a
		}
	}
	choose(0, x.relation())
}
