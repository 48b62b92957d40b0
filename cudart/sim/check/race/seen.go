package race

// seenClocks are what asynchronous accesses to each space see. As a rule they are one clock, whose vector they share.
type seenClocks [spaces]clock

// join makes each clock the later one of both.
func (c *seenClocks) join(other *seenClocks) {
	before := *c
	for s := range c {
		if e := before.first(s); e < s && other.isOne(e, s) {
			c[s] = c[e]
			continue
		}
		c[s].join(&other[s])
	}
}

// first is the first space that has the same clock as another one.
func (c *seenClocks) first(s int) int {
	for e := range s {
		if c.isOne(e, s) {
			return e
		}
	}
	return s
}

// isOne reports whether the clocks of two spaces are the same, and share their vector.
func (c *seenClocks) isOne(a, b int) bool {
	return c[a].own == c[b].own && c[a].time == c[b].time && c[a].past.same(c[b].past)
}

// joinAll joins one clock to all of them.
func (c *seenClocks) joinAll(other clock) {
	var all seenClocks
	for s := range all {
		all[s] = other
	}
	c.join(&all)
}

// vectors are the clocks without a time apart.
func (c *seenClocks) vectors() (all [spaces]vector) {
	for s := range c {
		if e := c.first(s); e < s {
			all[s] = all[e]
			continue
		}
		all[s] = c[s].vector()
	}
	return all
}
