package exec

import "unsafe"

// transfer is an asynchronous copy. It is done when a thread waits for it, or
// before the next turn of the block that began it, with disorder before a later one.
type transfer struct {
	warp *warp
	lane int
	copier
	barrier    unsafe.Pointer // nil where a group waits for the copy
	bytes      uint64         // that the barrier waits for
	arrivals   uint64         // at the barrier
	into       *block         // whose shared memory it writes, where there is a barrier
	delay      int            // turns of the block until it is performed unasked
	acquiredAt uint64         // the acquiredAt of the block's view when the copy began, with disorder
	fetched    bool
	done       bool
	observed   *ObservedCopy // nil in programs that are not observed
}

// copier is the two halves of a copy. A thread may wait for the first one alone.
type copier interface {
	fetch(t *transfer)   // reads what is copied
	deliver(t *transfer) // writes it
}

// read does the first half of the copy.
func (t *transfer) read() {
	if !t.fetched {
		t.fetched = true
		t.fetch(t)
	}
}

// perform completes the copy and counts its bytes, or an arrival, at the mbarrier that waits for them.
func (t *transfer) perform() {
	if t.done {
		return
	}
	t.done = true
	t.read()
	t.deliver(t)
	if t.barrier != nil {
		m := readMbarrier(t.barrier)
		m.bytes -= int64(t.bytes)
		m.pending -= min(t.arrivals, m.pending)
		m.write(t.barrier)
		t.into.incoming--
	}
}

// linear is a copy from one range of memory to another.
type linear struct {
	dst, src  unsafe.Pointer
	to, from  uint64 // their generic addresses
	bytes     uint64 // read
	zeroes    uint64 // written behind them; both together are a multiple of 4
	alignment uint64
	late      bool // dst is global: with disorder the stores are pending at first
	generic   bool // it reads as threads do, and sees what they have released to the device
	data      []byte
	room      [16]byte // for data that is no longer
}

func (l *linear) fetch(t *transfer) {
	if n := l.bytes + l.zeroes; n <= uint64(len(l.room)) {
		l.data = l.room[:n]
	} else {
		l.data = zeroed(int(n))
	}
	if l.bytes > 0 {
		copy(l.data, unsafe.Slice((*byte)(l.src), l.bytes))
		t.staleData(l.data[:l.bytes], l.src)
		t.forward(l.data[:l.bytes], l.src, l.generic)
		t.warp.block.staleShared(l.data[:l.bytes], l.src)
	}
}

// forward lays over data, which were read at p, what has not reached memory: of a generic copy
// what the thread sees, of others what bulk copies of the block have written.
func (t *transfer) forward(data []byte, p unsafe.Pointer, generic bool) {
	w := t.warp
	if w.stores == nil || w.stores.empty() && w.grid.gpuScope.count == 0 {
		return
	}
	for i := range data {
		at := unsafe.Add(p, i)
		if generic {
			v := w.forward(word{uint64(data[i])}, at, 1, t.lane, t.acquiredAt)
			data[i] = v.byte(0)
		} else if key, _ := lineOf(at, 1); w.stores.lines[key] != nil {
			v := w.stores.forward(word{uint64(data[i])}, at, 1, func(st *pendingStore) bool {
				return st.copied && (st.blockVisible || st.thread == int32(w.thread(t.lane)))
			})
			data[i] = v.byte(0)
		}
	}
}

func (l *linear) deliver(t *transfer) {
	for at := uint64(0); at < l.bytes+l.zeroes; at += 4 {
		v := readPlain(unsafe.Pointer(&l.data[at]), 4)
		if s := t.warp.stores; s != nil && l.late {
			s.push(unsafe.Add(l.dst, at), 4, word{v}, t.warp.thread(t.lane), true)
		} else {
			writeAtomic(unsafe.Add(l.dst, at), 4, v)
		}
	}
}

// maskedCopy is a linear copy of some of each 16 bytes.
type maskedCopy struct {
	linear
	only uint16 // a bit for each byte
}

func (l *maskedCopy) deliver(t *transfer) {
	for at := range l.bytes {
		if l.only>>(at%16)&1 == 0 {
			continue
		}
		p, v := unsafe.Add(l.dst, at), uint64(l.data[at])
		if s := t.warp.stores; s != nil && l.late {
			s.push(p, 1, word{v}, t.warp.thread(t.lane), true)
		} else {
			writePlain(p, 1, v)
		}
	}
}

// groupKind is one of the two kinds of groups that a thread commits.
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

// waitRead does the first half of all but the newest n committed groups.
func (g *groups) waitRead(n uint64) {
	for i := 0; uint64(len(g.committed)-i) > n; i++ {
		for _, t := range g.committed[i] {
			t.read()
		}
	}
}

// maxDelayLog2 is the base-2 logarithm of the most turns by which disorder delays a copy.
const maxDelayLog2 = 7

// begin hands t to the block. Disorder delays it; short delays are as likely as long ones.
func (b *block) begin(t *transfer) {
	if r := b.grid.cfg.Disorder; r != nil {
		t.delay, t.acquiredAt = r.IntN(1<<r.IntN(maxDelayLog2+1)), b.view.acquiredAt
	}
	b.inFlight = append(b.inFlight, t)
}

// performDue performs the copies in flight whose delay is over.
func (b *block) performDue() {
	if len(b.inFlight) == 0 {
		return
	}
	b.grid.progress = true
	left := b.inFlight[:0]
	for _, t := range b.inFlight {
		if t.delay--; t.delay < 0 {
			t.perform()
		}
		if !t.done {
			left = append(left, t)
		}
	}
	clear(b.inFlight[len(left):])
	b.inFlight = left
}

// performAll performs all copies in flight, when the block has exited.
func (b *block) performAll() {
	for _, t := range b.inFlight {
		t.perform()
	}
	b.inFlight = nil
}

// checkIncoming reports after performAll whether the block, which has exited, is
// still written to. Another block may have its place on a GPU by now.
func (b *block) checkIncoming() error {
	if b.incoming == 0 {
		return nil
	}
	return b.warps[0].fault(IllegalAddress, 0,
		"the block has exited, and %d copies that others of its cluster began still write its shared memory: wait for "+
			"their mbarrier", b.incoming)
}
