package exec

import "unsafe"

// transfer is an asynchronous copy between global and shared memory. It is
// done when a thread waits for it, or before the block's next round.
type transfer struct {
	warp     *warp
	lane     int
	dst, src unsafe.Pointer
	bytes    uint64 // read
	zeroes   uint64 // written behind them; both together are a multiple of 4
	late     bool   // dst is global: with disorder the stores are pending at first
	barrier  unsafe.Pointer
	done     bool
}

// perform copies, and tells the mbarrier that waits for the bytes.
func (t *transfer) perform() {
	if t.done {
		return
	}
	t.done = true
	for at := uint64(0); at < t.bytes+t.zeroes; at += 4 {
		var v uint64
		for b := uint64(0); b < 4 && at+b < t.bytes; b++ {
			v |= readPlain(unsafe.Add(t.src, at+b), 1) << (8 * b)
		}
		if s := t.warp.stores; s != nil && t.late {
			s.push(unsafe.Add(t.dst, at), 4, v, t.warp.thread(t.lane))
		} else {
			writeAtomic(unsafe.Add(t.dst, at), 4, v)
		}
	}
	if t.barrier != nil {
		m := readMbarrier(t.barrier)
		m.bytes -= int64(t.bytes)
		m.write(t.barrier)
	}
}

// groupKind tells the two kinds of groups apart that a thread commits.
type groupKind uint8

const (
	copyGroup groupKind = iota // of cp.async
	bulkGroup                  // of cp.async.bulk
)

// groups are a thread's transfers of one kind: those not yet committed, and the
// committed groups, oldest first.
type groups struct {
	open      []*transfer
	committed [][]*transfer
}

// groupsOf returns a thread's groups, which it may change.
func (w *warp) groupsOf(kind groupKind, lane int) *groups {
	if w.groups[kind] == nil {
		w.groups[kind] = make([]groups, 32)
	}
	return &w.groups[kind][lane]
}

func (g *groups) commit() {
	g.committed = append(g.committed, g.open)
	g.open = nil
}

// wait performs all but the newest n committed groups.
func (g *groups) wait(n uint64) {
	for uint64(len(g.committed)) > n {
		for _, t := range g.committed[0] {
			t.perform()
		}
		g.committed = g.committed[1:]
	}
}

// transferSome performs what the block has under way: everything, or with
// disorder each transfer or not at random.
func (b *block) transferSome() {
	if len(b.flying) == 0 {
		return
	}
	b.grid.progress = true
	left := b.flying[:0]
	for _, t := range b.flying {
		if r := b.grid.cfg.Disorder; r == nil || r.IntN(3) == 0 {
			t.perform()
		}
		if !t.done {
			left = append(left, t)
		}
	}
	clear(b.flying[len(left):])
	b.flying = left
}

// transferAll performs the rest, when the block has exited.
func (b *block) transferAll() {
	for _, t := range b.flying {
		t.perform()
	}
	b.flying = nil
}
