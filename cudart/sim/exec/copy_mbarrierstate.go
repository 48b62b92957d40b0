package exec

import "unsafe"

// mbarrier is the barrier object that PTX keeps in 64 bits of shared memory. A
// phase is complete when no arrivals are pending and no bytes are outstanding.
type mbarrier struct {
	phase   uint64 // 0 or 1: the parity of the phase that is not complete yet
	pending uint64 // arrivals until it is
	count   uint64 // arrivals of each phase; 0 where nothing was initialized
	bytes   int64  // expected and not yet there
}

// mbarrierLimit is the ISA's, for arrivals and for bytes.
const mbarrierLimit = 1<<20 - 1

// readMbarrier reads the object at p. PTX calls the layout opaque; this one is
// the simulator's own.
func readMbarrier(p unsafe.Pointer) mbarrier {
	w := *(*uint64)(p)
	return mbarrier{phase: w >> 63, pending: w & mbarrierLimit, count: w >> 20 & mbarrierLimit, bytes: int64(w<<1) >> 41}
}

// MbarrierState describes what 64 bits of an mbarrier lack until the phase under way is complete.
func MbarrierState(word uint64) (phase, arrivals uint64, bytes int64) {
	m := readMbarrier(unsafe.Pointer(&word))
	return m.phase, m.pending, m.bytes
}

// write keeps the object at p, and begins the next phase if this one is
// complete.
func (m mbarrier) write(p unsafe.Pointer) {
	if m.pending == 0 && m.bytes == 0 {
		m.phase, m.pending = m.phase^1, m.count
	}
	*(*uint64)(p) = m.phase<<63 | uint64(m.bytes)&(1<<23-1)<<40 | m.count<<20 | m.pending
}

// arrive counts v threads in; it returns what is wrong, or "".
func (m *mbarrier) arrive(v uint64) string {
	if v > m.pending {
		return "more threads arrive at the mbarrier than it expects"
	}
	m.pending -= v
	return ""
}

// expect announces v bytes.
func (m *mbarrier) expect(v uint64) string {
	if m.bytes += int64(v); v > mbarrierLimit || m.bytes > mbarrierLimit {
		return "the mbarrier cannot expect so many bytes"
	}
	return ""
}

// drop makes later phases wait for v arrivals fewer.
func (m *mbarrier) drop(v uint64) string {
	if v > m.count {
		return "more threads leave the mbarrier than it expects"
	}
	m.count -= v
	return ""
}

// complete counts v bytes as there.
func (m *mbarrier) complete(v uint64) string {
	if m.bytes -= int64(v); v > mbarrierLimit || m.bytes < -mbarrierLimit {
		return "the mbarrier cannot complete so many bytes"
	}
	return ""
}

// mbarrierStep is what an instruction does to an object, given its operand.
type mbarrierStep func(m *mbarrier, v uint64) string

// mbarrierSteps are those of arrivals, and of the others, by name.
var mbarrierSteps = map[string]mbarrierStep{
	"init": func(m *mbarrier, v uint64) string {
		if *m = (mbarrier{pending: v, count: v}); v < 1 || v > mbarrierLimit {
			return "an mbarrier cannot wait for so many threads"
		}
		return ""
	},
	"inval":                 func(m *mbarrier, _ uint64) string { *m = mbarrier{}; return "" },
	"expect_tx":             (*mbarrier).expect,
	"complete_tx":           (*mbarrier).complete,
	"arrive":                (*mbarrier).arrive,
	"arrive.expect_tx":      inOrder((*mbarrier).expect, one((*mbarrier).arrive)),
	"arrive_drop":           inOrder((*mbarrier).drop, (*mbarrier).arrive),
	"arrive_drop.expect_tx": inOrder((*mbarrier).expect, one((*mbarrier).drop), one((*mbarrier).arrive)),
}

// inOrder takes steps until one is wrong.
func inOrder(steps ...mbarrierStep) mbarrierStep {
	return func(m *mbarrier, v uint64) string {
		for _, step := range steps {
			if why := step(m, v); why != "" {
				return why
			}
		}
		return ""
	}
}

// one is a step by one thread.
func one(step mbarrierStep) mbarrierStep {
	return func(m *mbarrier, _ uint64) string { return step(m, 1) }
}

// withoutCompletion is a step of .noComplete.
func withoutCompletion(step mbarrierStep) mbarrierStep {
	return func(m *mbarrier, v uint64) string {
		if why := step(m, v); why != "" {
			return why
		}
		if m.pending == 0 {
			return "an arrival with .noComplete must not be the last one of its phase"
		}
		return ""
	}
}

// state is what an arrive form returns: the phase, and the arrivals that were pending.
func (m mbarrier) state() uint64 { return m.phase | m.pending<<1 }
