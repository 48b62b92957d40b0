package exec

import "gpurun/cudart/sim/ptx"

// fence compiles fence and membar. Every ordered access is sequentially
// consistent already; the atomic operation here keeps plain ones in order too.
func (c *compiler) fence(o *op) {
	if kind := c.take("proxy", "mbarrier_init"); kind != "" {
		c.proxyFence(o, kind)
		return
	}
	if restriction := c.take(sharedOfBlock, sharedOfCluster); restriction != "" {
		c.restrictedFence(o, restriction, false)
		return
	}
	sem, scope := c.take("acq_rel", "sc", "acquire", "release"), c.take("cta", "cluster", "gpu", "sys", "gl")
	if scope == "" {
		c.fail("%s needs a scope", c.in.Op)
	}
	c.args(0)
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		// What an earlier load makes acquired is released by a later store.
		if sem != "release" {
			w.block.view.acquire(scope)
		}
		if sem != "acquire" {
			w.release(scope, mask)
		}
		w.grid.fences.Add(1)
		return nil
	}
}

// proxyFence compiles fence.proxy.{alias, async, tensormap::generic} and fence.mbarrier_init. Copies
// read memory and not what a thread has yet to write to it, so
// fence.proxy.async lets that happen: for all memory, or with a space for that
// alone. In the store buffers a byte is the same behind its own and behind a
// multicast address, so that fence.proxy.alias has nothing to do.
func (c *compiler) proxyFence(o *op, kind string) {
	async, space := false, ptx.Generic
	if kind == "proxy" {
		proxy := c.take("async", "alias", "tensormap::generic", "async::generic")
		switch proxy {
		case "":
			c.fail("of the proxies only .async, .alias, .tensormap::generic and .async::generic are implemented")
		case "async::generic":
			c.restrictedFence(o, c.take(sharedOfBlock, sharedOfCluster), true)
			return
		case "tensormap::generic":
			c.tensorMapFence(o)
			return
		}
		async = proxy == "async"
		space = c.takeSpace()
	} else {
		c.take("release")
		c.take("cluster")
	}
	c.args(0)
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		if !async {
			return nil
		}
		if space == ptx.Generic || space == ptx.Global {
			w.release("sys", mask)
		}
		if space != ptx.Global {
			w.fenceShared(mask)
		}
		return nil
	}
}

// fenceShared is fence.proxy.async of shared memory.
func (w *warp) fenceShared(mask uint32) {
	w.block.generic.fence(w)
	w.markSynchronized(mask)
	w.block.fenceProxy()
}

// The memory that a fence is restricted to.
const (
	sharedOfBlock   = "sync_restrict::shared::cta"
	sharedOfCluster = "sync_restrict::shared::cluster"
)

// restrictedFence compiles fences of shared memory alone:
//
//	fence{.proxy.async::generic}.release.sync_restrict::shared::cta.cluster;
//	fence{.proxy.async::generic}.acquire.sync_restrict::shared::cluster.cluster;
//
// The generic proxy has no stale shared memory here, so that the second has nothing to do.
func (c *compiler) restrictedFence(o *op, restriction string, async bool) {
	c.needs(90, 8, 6)
	sem, scope := c.take("acquire", "release"), c.take("cluster")
	if known := map[string]string{"release": sharedOfBlock, "acquire": sharedOfCluster}; sem == "" || scope == "" ||
		known[sem] != restriction {
		c.fail("the fence must be .release.%s.cluster or .acquire.%s.cluster", sharedOfBlock, sharedOfCluster)
	}
	c.args(0)
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		switch {
		case sem == "acquire":
		case async:
			w.fenceShared(mask)
		default:
			w.block.generic.publish(w)
			w.markSynchronized(mask)
		}
		w.grid.fences.Add(1)
		return nil
	}
}
