package exec

import "slices"

// AsyncObserver is told of asynchronous accesses: of copies, of multiplications by a warpgroup, and of what their
// ends are told by.
type AsyncObserver interface {
	// Copy is called behind an instruction that has issued an asynchronous access.
	Copy(at Place, c *ObservedCopy)
	// Wait is called when a warp has waited for copies that it has issued, or until they have read their sources.
	Wait(at Place, copies []*ObservedCopy, readsAlone bool)
	// Complete is called when copies that have ended complete bytes of an mbarrier, or arrive there.
	Complete(b ObservedBarrier, copies []*ObservedCopy)
	// Mbarrier is called at an mbarrier instruction, once for each object that the lanes name: before it is changed, and
	// behind a test.
	Mbarrier(at Place, b ObservedBarrier, do MbarrierAction)
	// FenceProxy is called at a fence between the generic and the async proxy: for "global" or "shared" memory, "" for
	// both, "mbarrier_init" for the state of new mbarriers, or "alias" for memory with several addresses.
	FenceProxy(at Place, space string)
}

// ObservedCopy is an asynchronous access of a warp.
type ObservedCopy struct {
	Async         bool // through the async proxy
	Reads, Writes []ObservedRange
	// Element is the bytes of an element that the writes update, each by a relaxed atomic operation; 0 of writes.
	Element uint64
	Barrier *ObservedBarrier // that is told of the end, or nil
	Tag     any              // the observer's own
	// What the warp that has issued it has waited for.
	waitedReads, waited bool
}

// ObservedRange is bytes of global memory, or of the shared memory of a block.
type ObservedRange struct {
	Address, Bytes uint64 // generic
	Block          int    // of shared memory
	Lane           int    // the first that accesses some of it
}

// ObservedBarrier is an mbarrier of a block.
type ObservedBarrier struct {
	Block   int
	Address uint64 // generic
	Phase   uint64 // 0 or 1: the parity of the phase that was not complete
}

// MbarrierAction is what a warp does to an mbarrier.
type MbarrierAction uint8

// The actions.
const (
	MbarrierBegins   MbarrierAction = iota // it is initialized
	MbarrierEnds                           // it is invalidated
	MbarrierArrives                        // and releases
	MbarrierCounts                         // bytes are expected or completed, or an arrival releases nothing
	MbarrierTests                          // the phase that was asked for is not over
	MbarrierPasses                         // it is over, and the warp acquires
	MbarrierPassesBy                       // it is over, and the warp acquires nothing
)

// observeAsync is observe for what is asynchronous, for matrices and for multicast addresses.
func (c *compiler) observeAsync(o *op) {
	has := func(mod string) bool { return slices.Contains(c.in.Mods, mod) }
	switch name := c.in.Op; {
	case name == "cp" && (has("commit_group") || has("prefetch")), name == "mbarrier" && has("pending_count"),
		name == "wmma" && has("mma"), name == "wgmma" && (has("fence") || has("commit_group")): // they touch no memory
	case name == "cp" && (has("wait_group") || has("wait_all")):
		c.observeWait(o)
	case name == "cp", (name == "st" || name == "red") && has("async"), name == "clusterlaunchcontrol" && has("async"):
		observeCopies(o)
	case name == "clusterlaunchcontrol": // a query touches no memory
	case name == "mbarrier" && (has("test_wait") || has("try_wait")):
		c.observeTest(o)
	case name == "mbarrier":
		c.observeMbarrier(o)
	case name == "fence" && (has("async") || has("async::generic") || has("alias") || has("mbarrier_init")):
		c.observeProxyFence(o)
	case name == "ldmatrix" || name == "stmatrix":
		c.observeRows(o)
	case name == "wmma":
		c.observeFragment(o)
	case name == "tcgen05":
		c.observeTensor(o)
	case name == "wgmma" && has("mma_async"):
		c.observeMultiplication(o)
	case name == "wgmma" && has("wait_group"):
		c.observeMultiplications(o)
	case name == "multimem":
		c.observeMulticast(o)
	default:
		observeUnmodeled(o)
	}
}

// observeProxyFence makes a proxy fence or fence.mbarrier_init tell of itself. That of .sync_restrict is a fence of
// the generic proxy, too.
func (c *compiler) observeProxyFence(o *op) {
	space := ""
	for _, m := range c.in.Mods {
		switch m {
		case "global", "mbarrier_init", "alias":
			space = m
		case "shared::cta", "shared::cluster", sharedOfBlock, sharedOfCluster:
			space = "shared"
		}
	}
	if slices.Contains(c.in.Mods, "async::generic") {
		c.observeFence(o)
	}
	fence := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		if err := fence(w, o, mask); err != nil {
			return err
		}
		at := w.site()
		at.Lanes = mask
		w.grid.cfg.Observer.FenceProxy(at, space)
		return nil
	}
}

// blockOf is the number of the block that a shared address names.
func (w *warp) blockOf(addr uint64) int {
	if blocks := w.block.cluster.blocks; IsShared(addr) && rankOf(addr) < len(blocks) {
		return blocks[rankOf(addr)].index
	}
	return w.block.index
}
