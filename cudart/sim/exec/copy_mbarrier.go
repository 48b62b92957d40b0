package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// mbarrier is the barrier object that PTX keeps in 64 bits of shared memory. A
// phase is complete when no arrivals are pending and no bytes are outstanding.
type mbarrier struct {
	phase   uint64 // 0 or 1: the parity of the phase that is not complete yet
	pending uint64 // arrivals until it is
	count   uint64 // arrivals of each phase; 0 where nothing was initialised
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

// mbarrierSteps are what instructions do to an object, given their operand.
var mbarrierSteps = map[string]func(m *mbarrier, v uint64) string{
	"init": func(m *mbarrier, v uint64) string {
		if *m = (mbarrier{pending: v, count: v}); v < 1 || v > mbarrierLimit {
			return "an mbarrier cannot wait for so many threads"
		}
		return ""
	},
	"inval":     func(m *mbarrier, _ uint64) string { *m = mbarrier{}; return "" },
	"arrive":    (*mbarrier).arrive,
	"expect_tx": (*mbarrier).expect,
	"arrive.expect_tx": func(m *mbarrier, v uint64) string {
		if why := m.expect(v); why != "" {
			return why
		}
		return m.arrive(1)
	},
}

// mbarrier compiles mbarrier.init, .inval, .arrive, .arrive.expect_tx,
// .expect_tx, .test_wait and .try_wait.
func (c *compiler) mbarrier(o *op) {
	what := c.take("init", "inval", "arrive", "test_wait", "try_wait")
	if c.has("expect_tx") {
		what = map[string]string{"": "expect_tx", "arrive": "arrive.expect_tx"}[what]
	}
	parity := c.has("parity")
	order := order{name: c.take("release", "acquire", "relaxed"), scope: c.take("cta", "cluster")}
	space := c.takeSpace()
	if c.takeType() != b64 || space != ptx.Shared && space != ptx.SharedCluster && space != ptx.Generic {
		c.fail("an mbarrier is a .b64 in shared memory")
	}
	if space == ptx.SharedCluster && !c.remote(what) {
		c.fail("mbarrier.%s takes no .shared::cluster, or must not ask for the state there", what)
	}
	o.kind, o.mem = opRun, &access{}
	switch what {
	case "":
		c.fail("this form of mbarrier is not implemented")
	case "test_wait", "try_wait":
		c.mbarrierTest(o, space, parity)
	default:
		c.mbarrierStep(o, space, what)
	}
	o.mem.order = order
}

// remote reports whether an operation can be on an mbarrier of another block of
// the cluster: arrivals can, which then return no state, and .expect_tx.
func (c *compiler) remote(what string) bool {
	return what == "expect_tx" || (what == "arrive" || what == "arrive.expect_tx") && c.arg(0).Kind == ptx.Sink
}

// mbarrierStep compiles an instruction that changes the object: [a] and a
// number, after the state that the arrive forms return.
func (c *compiler) mbarrierStep(o *op, space ptx.Space, what string) {
	step, first := mbarrierSteps[what], 0
	if what == "arrive" || what == "arrive.expect_tx" {
		first = 1
		c.dst(&o.d, 0, b64)
	} else {
		c.def(&o.d, c.sink())
	}
	c.memory(o, first, space, b64)
	switch n := len(c.in.Args) - first; {
	case n == 1 && what == "arrive":
		c.use(&o.b, c.constant(constant{value: 1}))
	case n != 1 || what != "inval":
		c.args(first + 2)
		c.src(&o.b, first+1, u32)
	}
	o.run = func(w *warp, o *op, mask uint32) error { return w.changeMbarriers(o, mask, step) }
}

// changeMbarriers does the step lane after lane. Arrivals release to the block
// unless they say that they do not.
func (w *warp) changeMbarriers(o *op, mask uint32, step func(m *mbarrier, v uint64) string) error {
	switch {
	case o.mem.order.name == "relaxed":
	case o.mem.order.scope == "cluster":
		w.release("cluster", mask)
	default:
		w.releaseToBlock(mask)
	}
	w.current.polled = 0
	var states lanes
	for left := mask; left != 0; left &= left - 1 {
		lane := lowest(left)
		p, err := w.writable(o, w.regs[o.a][lane], lane)
		if err != nil {
			return err
		}
		m := readMbarrier(p)
		states[lane] = m.phase
		if why := step(&m, w.regs[o.b][lane]); why != "" {
			return w.fault(IllegalInstruction, lane, "%s", why)
		}
		m.write(p)
	}
	w.setReg(o.d, &states, mask)
	return nil
}

// mbarrierTest compiles test_wait and try_wait: p, [a], state or parity, and a
// hint how long to wait, which is not needed here. A phase is over when the
// object's is another one.
func (c *compiler) mbarrierTest(o *op, space ptx.Space, parity bool) {
	if n := len(c.in.Args); n != 3 && n != 4 {
		c.args(3)
		return
	}
	o.p, _ = c.dstPreds()
	c.memory(o, 1, space, b64)
	if parity {
		c.src(&o.b, 2, u32)
	} else {
		c.src(&o.b, 2, b64)
	}
	o.run = func(w *warp, o *op, mask uint32) error {
		var over uint32
		for left := mask; left != 0; left &= left - 1 {
			lane := lowest(left)
			p, err := w.pointer(o, w.regs[o.a][lane], lane)
			if err != nil {
				return err
			}
			m := readMbarrier(p)
			if m.phase != w.regs[o.b][lane]&1 {
				over |= 1 << lane
			}
			w.observeUnwatched(m.phase)
		}
		if over != 0 && o.mem.order.name != "relaxed" && o.mem.order.scope == "cluster" {
			w.block.view.acquire("cluster")
		}
		w.setPred(o.p, over, mask)
		return nil
	}
}
