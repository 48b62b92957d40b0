package exec

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Stale loads. With [Config.Disorder] some blocks are forgetful: their weak loads and
// asynchronous copies see what global memory held when the block last acquired, as
// a multiprocessor does whose cache has the line from before, or that has loaded
// ahead. Only what happened before must be seen, which is
//
//   - what the block itself has written,
//   - what a strong load of the block has seen, at the same place,
//   - what reached memory before the block began or griddepcontrol.wait ended,
//   - what reached memory before one of its threads acquired, by a load, an
//     atomic, a fence, an mbarrier or the cluster's barrier, at more than .cta
//     scope: barriers within the block then tell the others of it.
//
// Loads by .nc do not look for what has changed since the block began or
// griddepcontrol.wait ended: they are for memory that nobody writes to meanwhile.
//
// Strong loads see what is there. Of a load that begins before an acquire of another
// thread of the block has happened, PTX would allow more.

// History is what memory held lately. Grids that write to the same memory share
// one. It knows memory by the regions' Identity, or else by their address in this
// process.
type History struct {
	clock   atomic.Uint64 // counts changes
	mu      sync.Mutex
	regions map[uint64]*regionHistory
}

// of returns the past of a region.
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

// Forget drops the past of memory that is gone.
func (h *History) Forget(identity uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.regions, identity)
}

// Record keeps what a range of a region holds, before something else than a grid
// writes it: whole lines, and of large ranges a part of them.
func (h *History) Record(r Region, offset, bytes uint64) {
	p := h.of(r)
	step := max(1, bytes/lineBytes/maxRecordedLines) * lineBytes
	first := (offset + lineBytes - 1) / lineBytes * lineBytes
	for at := first; at+lineBytes <= offset+bytes; at += step {
		for word := at; word < at+lineBytes; word += 8 {
			p.record(word, unsafe.Pointer(&r.Data[word]), 8, 0, 0)
		}
	}
}

const (
	maxChanges       = 1 << 14 // of a region that are kept
	maxRecordedLines = 1 << 10 // lines of a range
)

// regionHistory is the last changes of one region. What is not in it was not, or too long ago.
type regionHistory struct {
	history *History
	newest  atomic.Uint64 // the moment of the last change
	mu      sync.Mutex
	changes []change     // a ring: number n, from 1 on, is at n % mostChanges
	last    int          // the number of the last change
	chains  [1 << 10]int // of lines that share a remainder, the number of the last change
}

// change is a write.
type change struct {
	time, writer uint64 // the writer is a view's; 0 is none
	at           uint64 // offset in the region
	old          uint64
	size         uint8
	before       int // number of the change before it in its chain
}

// record keeps what is at p, which is about to be written: now, or the reader's device has
// seen it since a moment.
func (p *regionHistory) record(at uint64, ptr unsafe.Pointer, size, writer, moment uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if moment == 0 {
		moment = p.history.clock.Add(1)
	}
	p.newest.Store(max(p.newest.Load(), moment))
	p.last++
	chain := &p.chains[at/lineBytes%uint64(len(p.chains))]
	if n := len(p.changes); p.last >= n && n < maxChanges {
		p.changes = append(p.changes, make([]change, max(n, 64))...) // the ring is not full and grows
	}
	p.changes[p.last%maxChanges] = change{moment, writer, at, readAtomic(ptr, size), uint8(size), *chain}
	*chain = p.last
}

// undoSince takes back what others than the reader have changed since a moment, of data
// that were read at an offset.
func (p *regionHistory) undoSince(data []byte, at, since, reader uint64) {
	if p == nil || p.newest.Load() <= since {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := at / lineBytes; line*lineBytes < at+uint64(len(data)); line++ {
		final := [lineBytes]bool{} // what the reader has written itself since
		for n := p.chains[line%uint64(len(p.chains))]; n > 0 && n > p.last-maxChanges; {
			c := &p.changes[n%maxChanges]
			if c.time <= since {
				break // one that the device saw early may stand behind younger ones: less is taken back then
			}
			if c.at/lineBytes == line {
				c.undo(data, at, reader, &final)
			}
			n = c.before
		}
	}
}

// undo takes back what a change did to bytes of a line that are not final.
func (c *change) undo(data []byte, at, reader uint64, final *[lineBytes]bool) {
	for b := range uint64(c.size) {
		switch i := c.at + b - at; {
		case c.writer == reader:
			final[(c.at+b)%lineBytes] = true
		case i < uint64(len(data)) && !final[(c.at+b)%lineBytes]:
			data[i] = byte(c.old >> (8 * b))
		}
	}
}

// view is what a block has come to know of memory. It is nil without disorder.
type view struct {
	id         uint64             // names it in changes
	beganAt    uint64             // the moment when the block began, or what it waited for had ended
	acquiredAt uint64             // the moment of the last acquire
	observed   map[uintptr]uint64 // moments of strong loads since, by line
	staleLoads bool
	history    *History
}

func newView(h *History, random *rand.Rand) *view {
	if random == nil {
		return nil
	}
	moment := h.clock.Add(1)
	return &view{id: moment, beganAt: moment, acquiredAt: moment, observed: map[uintptr]uint64{}, staleLoads: random.IntN(2) == 0, history: h}
}

// acquire lets the block see what others have written.
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

// observe notes that a strong load has seen what is at p.
func (v *view) observe(p unsafe.Pointer) {
	if v != nil && v.staleLoads {
		key, _ := lineOf(p, 1)
		v.observed[key] = v.history.clock.Load()
	}
}

// knownUntil is the moment up to which the block knows what is at p, and all else up to since.
func (v *view) knownUntil(p unsafe.Pointer, since uint64) uint64 {
	key, _ := lineOf(p, 1)
	return max(since, v.observed[key])
}

// staleValue is what the block's loads, of which fixed ones are by .nc, see at p, where memory
// holds value.
func (v *view) staleValue(g *Grid, value uint64, p unsafe.Pointer, size uint64, fixed bool) uint64 {
	past, at := g.historyOf(p)
	since := v.knownUntil(p, v.acquiredAt)
	if fixed {
		since = v.beganAt
	}
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], value)
	past.undoSince(bytes[:size], at, since, v.id)
	return binary.LittleEndian.Uint64(bytes[:])
}

// staleData lays over data, which an asynchronous copy has read at p, what its block saw there
// when the copy began.
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

// recordChange keeps what is at p, which is about to be written. The moment is when the device
// saw the write already, or 0.
func (g *Grid) recordChange(p unsafe.Pointer, size, writer, moment uint64) {
	past, at := g.historyOf(p)
	past.record(at, p, size, writer, moment)
}

// trackedRegion is a region that grids may write to, with its past.
type trackedRegion struct {
	begin, size uintptr
	*regionHistory
}

// track lets the past of a region be found by where its memory is.
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

// historyOf finds the past of the region that holds p, and where in it that is. It is
// nil for shared memory and the like.
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
