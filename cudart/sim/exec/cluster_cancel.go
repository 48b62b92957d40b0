package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// clusterLaunchControl compiles
//
//	clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [a], [mbarrier];
//	clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;
//	clusterlaunchcontrol.query_cancel.get_first_ctaid{::x,::y,::z}.b32.b128 d, response;
//	clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, response;
//
// No request succeeds, which PTX allows at any time: every cluster of the grid runs its own work.
func (c *compiler) clusterLaunchControl(o *op) {
	c.needs(100, 8, 6)
	o.kind = opRun
	switch c.take("try_cancel", "query_cancel") {
	case "try_cancel":
		c.tryCancel(o)
	case "query_cancel":
		c.queryCancel(o)
	default:
		c.fail("this form of clusterlaunchcontrol is not implemented")
	}
}

// cancelResponse is the bytes of the response to a request.
const cancelResponse = 16

// noCancel writes the response that a request has failed: zeros, as PTX leaves its form open.
type noCancel struct {
	dst unsafe.Pointer
	to  uint64
}

func (*noCancel) fetch(*transfer) {}

func (k *noCancel) deliver(*transfer) { clear(unsafe.Slice((*byte)(k.dst), cancelResponse)) }

func (c *compiler) tryCancel(o *op) {
	space := c.takeSpace()
	all := c.has("multicast::cluster::all")
	if !c.has("async") || !c.has("mbarrier::complete_tx::bytes") || !c.has("b128") || space != ptx.Shared && space != ptx.Generic {
		c.fail("this form of clusterlaunchcontrol.try_cancel is not implemented")
	}
	c.args(2)
	to, barrier := c.endpoint(0, space), c.endpoint(1, space)
	barrier.mem.size = 8
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			if err := w.requestCancel(to, barrier, all, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// requestCancel is one lane's try_cancel.
func (w *warp) requestCancel(to, barrier *endpoint, all bool, lane int) error {
	addr, err := to.at(w, lane)
	if err != nil {
		return err
	}
	at, err := barrier.at(w, lane)
	if err != nil {
		return err
	}
	for rank := range w.block.cluster.blocks {
		if !all && rank != w.block.rank {
			continue
		}
		k := &noCancel{to: withRank(addr, rank)}
		if k.dst, err = w.writableAt(k.to, cancelResponse, cancelResponse, lane); err != nil {
			return err
		}
		t := &transfer{warp: w, lane: lane, copier: k, bytes: cancelResponse}
		if err := w.startCounted(t, withRank(at, rank)); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) queryCancel(o *op) {
	if c.has("is_canceled") {
		c.takeQueryTypes("pred")
		o.p, _ = c.dstPreds()
		o.run = func(w *warp, o *op, mask uint32) error { w.setPred(o.p, 0, mask); return nil }
		return
	}
	if c.take("get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z") == "" {
		c.fail("this form of clusterlaunchcontrol.query_cancel is not implemented")
		return
	}
	n := 1
	if c.has("v4") {
		n = 4
	}
	c.takeQueryTypes("b32")
	slots := c.destinations(0, n, b32)
	o.run = func(w *warp, o *op, mask uint32) error {
		for _, slot := range slots {
			w.setReg(slot, &lanes{}, mask)
		}
		return nil
	}
}

// takeQueryTypes takes the types of a query and its response, which is a register of 128 bits.
func (c *compiler) takeQueryTypes(result string) {
	if !c.has(result) || !c.has("b128") {
		c.fail("clusterlaunchcontrol.query_cancel needs .%s.b128", result)
	}
	c.args(2)
	for _, half := range c.wide128(c.arg(1)) {
		slot := new(int32)
		c.srcOperand(slot, half, b64)
	}
}
