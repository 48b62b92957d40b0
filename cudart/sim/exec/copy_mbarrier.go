package exec

import (
	"strings"

	"gpurun/cudart/sim/ptx"
)

// mbarrier compiles mbarrier.init, .inval, .arrive, .arrive_drop, .expect_tx, .complete_tx, .test_wait,
// .try_wait and .pending_count.
func (c *compiler) mbarrier(o *op) {
	what := c.take("init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "complete_tx", "pending_count")
	if c.has("expect_tx") {
		what = strings.TrimPrefix(what+".expect_tx", ".")
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
	switch step := mbarrierSteps[what]; {
	case what == "pending_count":
		c.pendingCount(o)
	case what == "test_wait" || what == "try_wait":
		c.mbarrierTest(o, space, parity)
	case step == nil:
		c.fail("this form of mbarrier is not implemented")
	default:
		c.mbarrierStep(o, space, what, step)
	}
	o.mem.order = order
}

// remote reports whether an operation can be on an mbarrier of another block of
// the cluster: arrivals can, which then return no state, and bytes.
func (c *compiler) remote(what string) bool {
	return what == "expect_tx" || what == "complete_tx" || strings.HasPrefix(what, "arrive") && c.arg(0).Kind == ptx.Sink
}

// mbarrierStep compiles an instruction that changes the object: [a] and a
// number, after the state that the arrive forms return.
func (c *compiler) mbarrierStep(o *op, space ptx.Space, what string, step mbarrierStep) {
	arrives := strings.HasPrefix(what, "arrive")
	if arrives && c.has("noComplete") {
		step = withoutCompletion(step)
	}
	first := 0
	if arrives {
		first = 1
		c.dst(&o.d, 0, b64)
	} else {
		c.def(&o.d, c.sink())
	}
	c.memory(o, first, space, b64)
	switch n := len(c.in.Args) - first; {
	case n == 1 && (what == "arrive" || what == "arrive_drop"):
		c.use(&o.b, c.constant(constant{value: 1}))
	case n != 1 || what != "inval":
		c.args(first + 2)
		c.src(&o.b, first+1, u32)
	}
	o.run = func(w *warp, o *op, mask uint32) error { return w.changeMbarriers(o, mask, step) }
}

// pendingCount compiles mbarrier.pending_count.b64 count, state.
func (c *compiler) pendingCount(o *op) {
	c.args(2)
	c.dst(&o.d, 0, u32)
	c.src(&o.a, 1, b64)
	o.run = func(w *warp, o *op, mask uint32) error {
		var counts lanes
		for lane, state := range w.regs[o.a] {
			counts[lane] = state >> 1 & mbarrierLimit
		}
		w.setReg(o.d, &counts, mask)
		return nil
	}
}

// changeMbarriers does the step lane after lane. Arrivals release to the block
// unless they say that they do not.
func (w *warp) changeMbarriers(o *op, mask uint32, step mbarrierStep) error {
	switch {
	case o.mem.order.name == "relaxed":
	case o.mem.order.scope == "cluster":
		w.release("cluster", mask)
	default:
		w.releaseToBlock(mask)
	}
	w.progresses()
	var states lanes
	for left := mask; left != 0; left &= left - 1 {
		lane := lowest(left)
		p, err := w.writable(o, w.regs[o.a][lane], lane)
		if err != nil {
			return err
		}
		m := readMbarrier(p)
		states[lane] = m.state()
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
