package exec

import (
	"math/bits"
	"unsafe"

	"gpurun/cudart"
)

// block is a resident thread block.
type block struct {
	grid     *Grid
	index    int         // within the grid
	at       cudart.Dim3 // likewise
	cluster  *cluster
	rank     int         // within the cluster
	atRank   cudart.Dim3 // likewise
	started  bool        // has had a turn
	warps    []*warp
	running  int // warps that have not exited
	live     int // threads that have not exited
	shared   span
	barriers [16]barrier

	stores *storeBuffer // nil without disorder
	view   *view        // likewise

	inFlight []*transfer // that began and may not be done
	incoming int         // copies to the block's shared memory that are not done

	overwritten []overwritten // by stores that asynchronous copies may not see yet

	warpgroups []*warpgroup   // nil until used
	generic    *genericStores // nil in kernels without wgmma and tcgen05

	tensorMemory *tensorMemory      // nil until used
	tensorQueue  []*tensorOperation // operations of tensor cores that threads have issued

	launchedDependents bool
}

// span is a region as the executor uses it.
type span struct {
	base, size uint64
	ptr        unsafe.Pointer
	data       []byte // keeps ptr alive where the memory is Go's
}

func newSpan(base uint64, data []byte) span {
	return span{base: base, size: uint64(len(data)), ptr: unsafe.Pointer(unsafe.SliceData(data)), data: data}
}

// zeroed returns n bytes of zeroes aligned to 16.
func zeroed(n int) []byte {
	words := make([][2]uint64, (n+15)/16+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

func newBlock(g *Grid, c *cluster, rank int) *block {
	b := &block{
		grid: g, cluster: c, rank: rank, atRank: g.clusterDim.At(rank), running: (g.threads + 31) / 32, live: g.threads,
	}
	first, size := c.at, g.clusterDim
	b.at = cudart.Dim3{X: first.X*size.X + b.atRank.X, Y: first.Y*size.Y + b.atRank.Y, Z: first.Z*size.Z + b.atRank.Z}
	b.index = g.gridDim.Index(b.at)
	b.view = newView(g.cfg.History, g.cfg.Disorder)
	b.stores = newStoreBuffer(g, b.view)
	b.shared = newSpan(sharedWindow+uint64(rank)<<rankShift, zeroed(g.kernel.dynamic+g.cfg.SharedBytes))
	b.generic = newGenericStores(g.kernel, &b.shared)
	b.warps = make([]*warp, b.running)
	for i := range b.warps {
		b.warps[i] = newWarp(b, i)
	}
	return b
}

func newWarp(b *block, index int) *warp {
	g := b.grid
	w := &warp{
		grid: g, block: b, index: index, stores: b.stores,
		warpMemory: g.kernel.takeMemory(),
		preds:      make([]uint32, g.kernel.preds),
		live:       uint32(widthMask(min(32, g.threads-32*index))),
	}
	if g.kernel.local > 0 {
		w.localSize = g.kernel.local
		w.local = zeroed(32 * w.localSize)
	}
	for _, k := range g.kernel.presets {
		w.fill(k)
	}
	w.pushPath(path{mask: w.live})
	return w
}

// fill gives a constant register its value.
func (w *warp) fill(k preset) {
	if k.perLane != nil {
		w.fillLanes(k)
		return
	}
	value := k.value
	if k.image {
		value += w.grid.cfg.Image
	}
	if k.code {
		value += w.grid.cfg.Functions
	}
	if k.shared {
		value += uint64(w.block.rank) << rankShift
	}
	w.setAffine(k.slot, affine{base: value})
}

// fillLanes is fill for a value of each lane.
func (w *warp) fillLanes(k preset) {
	reg := &w.regs[k.slot]
	r := affine{base: k.perLane(w, 0), stride: k.perLane(w, 1) - k.perLane(w, 0)}
	isRamp := true
	for i := range reg {
		reg[i] = k.perLane(w, i)
		isRamp = isRamp && reg[i] == r.at(i)
	}
	w.dropAffine(k.slot)
	if isRamp {
		w.setAffine(k.slot, r)
	}
}

// barrier counts the threads that have arrived, as GPUs do since Volta.
type barrier struct {
	arrived int
	want    int // explicit thread count, or 0 for all threads that have not exited
	trues   int // arrivals whose predicate was true, for bar.red
}

// arrive counts lanes in and reports whether the barrier is complete.
func (b *block) arrive(id, want int, mask, preds uint32) bool {
	bar := &b.barriers[id]
	bar.arrived += bits.OnesCount32(mask)
	bar.trues += bits.OnesCount32(mask & preds)
	bar.want = want
	return bar.complete(b.live)
}

func (bar *barrier) complete(live int) bool {
	want := bar.want
	if want == 0 {
		want = live
	}
	return bar.arrived > 0 && bar.arrived >= want
}

// release lets the paths that wait at a barrier go on.
func (b *block) release(id int) {
	bar := b.barriers[id]
	b.barriers[id] = barrier{}
	b.grid.progress = true
	b.wakes()
	if b.grid.cfg.Observer != nil {
		b.tellRelease(id)
	}
	for _, w := range b.warps {
		for i := range w.paths[:w.others] {
			s := &w.paths[i]
			if s.state == atBarrier && int(s.barrier) == id {
				w.reduced(&w.grid.kernel.code[s.pc], s.mask, bar)
				s.state = runnable
				s.pc++
			}
		}
	}
}

// exit counts threads out, which may complete barriers that wait for all.
func (b *block) exit(mask uint32) {
	b.live -= bits.OnesCount32(mask)
	for id := range b.barriers {
		if b.barriers[id].want == 0 && b.barriers[id].complete(b.live) {
			b.release(id)
		}
	}
}
