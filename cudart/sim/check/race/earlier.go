package race

// earlier is an access in front of the last write whose scope is narrower. What races with such an access need not race
// with the write: both may be morally strong. Of other accesses, the last write tells as much.
type earlier struct {
	*event
	message *message // of a write
}

// replaced is what a cell keeps of the accesses in front of a write that becomes the last one.
func (c *cell) replaced(by *event) []earlier {
	if !by.op.strong() {
		return nil
	}
	kept := c.inFront()[:0]
	for _, x := range c.inFront() {
		if x.op.Scope < by.op.Scope {
			kept = append(kept, x)
		}
	}
	if c.write != nil && c.write.op.Scope < by.op.Scope {
		kept = addEarlier(kept, earlier{c.write, c.message()})
	}
	if c.read != nil && c.read.op.Scope < by.op.Scope {
		kept = addEarlier(kept, earlier{c.read, nil})
	}
	if c.more == nil {
		return kept
	}
	for _, r := range c.more.reads {
		if r.op.Scope < by.op.Scope {
			kept = addEarlier(kept, earlier{r, nil})
		}
	}
	return kept
}

// inFront is what is kept of the accesses in front of the last write.
func (c *cell) inFront() []earlier {
	if c.more == nil {
		return nil
	}
	return c.more.earlier
}

// addEarlier keeps one access of each thread, kind and scope.
func addEarlier(all []earlier, x earlier) []earlier {
	for i, y := range all {
		if y.thread.number == x.thread.number && y.op.Kind == x.op.Kind && y.op.Scope == x.op.Scope {
			all[i] = x
			return all
		}
	}
	return append(all, x)
}

// compareEarlier looks for races with what is in front of the last write.
func (d *Detector) compareEarlier(c *cell, now *event, addr uint64) {
	for _, x := range c.inFront() {
		if now.op.Kind != Read || x.op.Kind != Read {
			d.compareObserved(x.event, x.message, now, addr)
		}
	}
}
