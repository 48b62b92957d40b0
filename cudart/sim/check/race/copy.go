package race

// Copy is an asynchronous access: a copy, or a multiplication by a warpgroup. It is two threads of its own, which
// begin where it is issued. One reads the source, the other one writes the destination. What waits for the copy
// happens after them.
type Copy struct {
	Reads, Writes *Thread
}

// Channel numbers the copies of a thread whose ends are told in the order in which they began. So they take two
// places in the clocks, and not two for each copy.
type Channel struct {
	reads, writes int
	time          uint32
}

// NewChannel makes a channel without copies.
func (d *Detector) NewChannel() *Channel {
	c := &Channel{reads: d.threads, writes: d.threads + 1}
	d.threads += 2
	return c
}

// Begin issues a copy by a thread. The copy happens after what the thread has done. It is not ordered with what the
// thread does from now on, nor with other copies.
func (d *Detector) Begin(t *Thread, c *Channel) *Copy {
	c.time++
	half := func(number int) *Thread {
		return &Thread{Name: t.Name, place: t.place, number: number, time: c.time, known: t.known, begin: t.begin}
	}
	k := &Copy{half(c.reads), half(c.writes)}
	t.tick()
	return k
}

// wasBegunBefore reports whether t is a half of a copy that was issued before the place that another thread has
// reached.
func (t *Thread) wasBegunBefore(now *Thread) bool {
	issue := &t.known.ordered
	return issue.own != t.number && issue.time <= now.known.ordered.at(issue.own)
}

// ArriveCopy adds to a barrier that a copy has ended, or that it has read its source. No proxy fence is needed behind
// the barrier to see what the copy has written.
func (d *Detector) ArriveCopy(b *Barrier, k *Copy, readsAlone bool) {
	b.add(&k.Reads.known)
	b.end(k.Reads)
	if !readsAlone {
		b.end(k.Writes)
	}
}

// end adds what a half of a copy has done.
func (b *Barrier) end(half *Thread) {
	b.raise(half.number, half.time)
	b.seen.joinAll(clock{own: half.number, time: half.time})
}

// Wait orders copies before what a thread does from now on, or their reads alone.
func (d *Detector) Wait(t *Thread, copies []*Copy, readsAlone bool) {
	var b Barrier
	for _, k := range copies {
		d.ArriveCopy(&b, k, readsAlone)
	}
	d.After(t, b.Moment())
}
