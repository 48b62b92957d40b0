package exec

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Stale loads. With [Config.Disorder] some blocks have stale loads: their weak loads and
// asynchronous copies see global memory as it was when the block last acquired. A
// multiprocessor does so when its L1 cache holds an old line, or when a load was hoisted. A load
// must see only the writes that happen before it:
//
//   - the block's own writes,
//   - at the same place, the writes that a strong load of the block has seen,
//   - writes that reached memory before the block began or griddepcontrol.wait ended,
//   - writes that reached memory before a thread of the block acquired, by a load, an
//     atomic, a fence, an mbarrier or the cluster's barrier, at a scope wider than .cta.
//     Barriers within the block make them visible to its other threads.
//
// Loads by .nc may see memory as it was when the block began or griddepcontrol.wait ended: the
// kernel promises that it is read-only meanwhile.
//
// Strong loads see the current value. PTX allows more stale values: here an acquire by one thread
// counts for its whole block at once.

// History holds the recent writes to memory, with the old values. Grids that write to the same
// memory share one. A region is known by its Identity, or else by its address in this process.
type History struct {
	clock   atomic.Uint64 // logical time: counts changes
	mu      sync.Mutex
	regions map[uint64]*regionHistory
}

// of returns the history of a region.
func (h *History) of(r Region) *regionHistory {
	identity := r.Identity
	if identity == 0 {
		identity = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.Data))))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.regions == nil {
		h.regions = map[uint64]*regionHistory{}
	}
	p := h.regions[identity]
	if p == nil {
		p = &regionHistory{history: h}
		h.regions[identity] = p
	}
	return p
}

// Forget drops the history of memory that was freed.
func (h *History) Forget(identity uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.regions, identity)
}

// Record keeps the contents of a range of a region before something other than a grid, such as a
// copy engine, writes it: whole lines, and of large ranges a part of them.
func (h *History) Record(r Region, offset, bytes uint64) {
	p := h.of(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	step := max(1, bytes/lineBytes/maxRecordedLines) * lineBytes
	first := (offset + lineBytes - 1) / lineBytes * lineBytes
	for at := first; at+lineBytes <= offset+bytes; at += step {
		for word := at; word < at+lineBytes; word += 8 {
			p.keep(word, unsafe.Pointer(&r.Data[word]), 8, 0, 0)
		}
	}
}

const (
	maxChanges       = 1 << 14 // of a region that are kept
	maxRecordedLines = 1 << 10 // lines of a range
)

// regionHistory is the most recent changes of one region. Older ones are dropped.
type regionHistory struct {
	history *History
	newest  atomic.Uint64 // when the last change was
	mu      sync.Mutex
	changes []change     // a ring: number n, from 1 on, is at n % maxChanges
	last    int          // the number of the last change
	chains  [1 << 10]int // of lines that share a remainder, the number of the last change
}

// change is a write.
type change struct {
	time, writer uint64 // writer is a view's id; 0 is none
	at           uint64 // offset in the region
	old          word
	size         uint8
	before       int // number of the change before it in its chain
}

// record keeps what is at ptr, which is about to be written. time is 0, for now, or when the
// device saw the write already, by a release at .gpu scope.
func (p *regionHistory) record(at uint64, ptr unsafe.Pointer, size, writer, moment uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(at, ptr, size, writer, moment)
}

// keep is record. The caller holds the mutex.
func (p *regionHistory) keep(at uint64, ptr unsafe.Pointer, size, writer, moment uint64) {
	if moment == 0 {
		moment = p.history.clock.Add(1)
	}
	p.newest.Store(max(p.newest.Load(), moment))
	p.last++
	chain := &p.chains[at/lineBytes%uint64(len(p.chains))]
	if n := len(p.changes); p.last >= n && n < maxChanges {
		p.changes = append(p.changes, make([]change, max(n, 64))...) // the ring is not full and grows
	}
	p.changes[p.last%maxChanges] = change{moment, writer, at, readPiece(ptr, size), uint8(size), *chain}
	*chain = p.last
}

// undoSince replaces bytes in data, which were read at an offset, by those from before the changes
// that other blocks than the reader have made since a time.
func (p *regionHistory) undoSince(data []byte, at, since, reader uint64) {
	if p == nil || p.newest.Load() <= since {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := at / lineBytes; line*lineBytes < at+uint64(len(data)); line++ {
		final := [lineBytes]bool{} // bytes that the reader has written itself since
		for n := p.chains[line%uint64(len(p.chains))]; n > 0 && n > p.last-maxChanges; {
			c := &p.changes[n%maxChanges]
			if c.time <= since {
				break // a change that the device saw early may stand behind younger ones: fewer are undone then
			}
			if c.at/lineBytes == line {
				c.undo(data, at, reader, &final)
			}
			n = c.before
		}
	}
}

// undo restores the old value of the bytes of a line that are not final.
func (c *change) undo(data []byte, at, reader uint64, final *[lineBytes]bool) {
	for b := range uint64(c.size) {
		switch i := c.at + b - at; {
		case c.writer == reader:
			final[(c.at+b)%lineBytes] = true
		case i < uint64(len(data)) && !final[(c.at+b)%lineBytes]:
			data[i] = c.old.byte(uintptr(b))
		}
	}
}

// view says which writes happen before a block's loads. It is nil without disorder.
type view struct {
	id         uint64             // of the writer, in changes
	beganAt    uint64             // when the block began or griddepcontrol.wait ended
	acquiredAt uint64             // when the block last acquired
	observed   map[uintptr]uint64 // times of strong loads since, by line
	staleLoads bool
	history    *History
}

func newView(h *History, random *rand.Rand) *view {
	if random == nil {
		return nil
	}
	moment := h.clock.Add(1)
	return &view{
		id: moment, beganAt: moment, acquiredAt: moment, observed: map[uintptr]uint64{}, staleLoads: random.IntN(2) == 0,
		history: h,
	}
}

// acquire makes the writes of others visible to the block.
func (v *view) acquire(scope string) {
	if v != nil && scope != "cta" {
		v.acquiredAt = v.history.clock.Load()
		clear(v.observed)
	}
}

// begin lets the block see what the grid before it has left.
func (v *view) begin() {
	if v != nil {
		v.acquire("sys")
		v.beganAt = v.acquiredAt
	}
}

// observe records that a strong load has seen the current value at p.
func (v *view) observe(p unsafe.Pointer) {
	if v != nil && v.staleLoads {
		key, _ := lineOf(p, 1)
		v.observed[key] = v.history.clock.Load()
	}
}

// knownUntil is the time up to which the block has seen all changes at p, given that it has seen
// all changes anywhere up to since.
func (v *view) knownUntil(p unsafe.Pointer, since uint64) uint64 {
	key, _ := lineOf(p, 1)
	return max(since, v.observed[key])
}

// staleValue is what the block's weak loads see at p, where memory holds value. Fixed ones are by
// .nc.
func (v *view) staleValue(g *Grid, value word, p unsafe.Pointer, size uint64, fixed bool) word {
	past, at := g.historyOf(p)
	since := v.knownUntil(p, v.acquiredAt)
	if fixed {
		since = v.beganAt
	}
	past.undoSince(unsafe.Slice((*byte)(unsafe.Pointer(&value)), size), at, since, v.id)
	return value
}

// staleData changes data, which an asynchronous copy has read at p, to what its block could see
// there when the copy began.
func (t *transfer) staleData(data []byte, p unsafe.Pointer) {
	if v := t.warp.block.view; v != nil && v.staleLoads {
		past, at := t.warp.grid.historyOf(p)
		for n := uint64(0); n < uint64(len(data)); {
			next := min(n+lineBytes-(at+n)%lineBytes, uint64(len(data)))
			past.undoSince(data[n:next], at+n, v.knownUntil(unsafe.Add(p, n), t.acquiredAt), v.id)
			n = next
		}
	}
}

// recordChange is [regionHistory.record] for the region that holds p.
func (g *Grid) recordChange(p unsafe.Pointer, size, writer, moment uint64) {
	past, at := g.historyOf(p)
	past.record(at, p, size, writer, moment)
}

// trackedRegion is a region that the grid has accessed, with its history.
type trackedRegion struct {
	begin, size uintptr
	*regionHistory
}

// track makes a region known to historyOf.
func (g *Grid) track(r Region) {
	if g.cfg.Disorder == nil || len(r.Data) == 0 {
		return
	}
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(r.Data)))
	for i := range g.regions {
		if g.regions[i].begin == begin {
			return
		}
	}
	g.regions = append(g.regions, trackedRegion{begin, uintptr(len(r.Data)), g.cfg.History.of(r)})
}

// historyOf finds the history of the region that holds p, and p's offset in it. Shared, local and
// parameter memory have none.
func (g *Grid) historyOf(p unsafe.Pointer) (*regionHistory, uint64) {
	for i := range g.regions {
		if at := uintptr(p) - g.regions[i].begin; at < g.regions[i].size {
			if i > 0 { // the next access is probably near
				g.regions[0], g.regions[i] = g.regions[i], g.regions[0]
				i = 0
			}
			return g.regions[i].regionHistory, uint64(at)
		}
	}
	return nil, 0
}
