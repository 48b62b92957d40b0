package check

import (
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// observer tells the detector what the warps of a grid do.
type observer struct {
	run        *run
	stream     *race.Thread
	before     *race.Moment // what happens before the launch
	prior      *observer    // of the kernel that griddepcontrol.wait waits for, or nil
	ended      *race.Moment // what the grid has done; nil while it runs
	rank       int
	launch     int
	kernel     string
	warps      map[[2]int]*race.Thread // by block and warp
	last       *race.Thread            // that was looked up last, or nil
	lastNumber [2]int
	order      []*race.Thread // the same, in the order in which they did something first
	barriers   map[[2]int]*race.Barrier
	shared     map[int]*race.Memory // of blocks
	lastShared *race.Memory         // that was looked up last, or nil, of the block lastBlock
	lastBlock  int
	workspace  race.Memory              // of a cooperative grid
	members    map[[2]int]*clusterBlock // of clusters of several blocks, by cluster and rank there
	resident   map[int]*clusterBlock    // the same, by block
	clusters   map[int]*clusterBarrier
	sites      map[opKey]*race.Operation
	lastOps    [64]knownOp // of sites that were looked up last, by their numbers
	address    [32]uint64
	id         schedule.Actor // of the launch
	async      asynchronous
	watched    *watchedGrid
	arrivals   arrivals
	retired    *retired // of the stream
}

// opKey is all that tells two operations of a kernel apart.
type opKey struct {
	site exec.Site
	op   race.Operation
}

// knownOp is an operation of a site, before it had the site, and after that.
type knownOp struct {
	opKey
	known *race.Operation
}

func newObserver(s *stream, l *launch, number int, before *race.Moment) *observer {
	return &observer{
		run: s.device.run, stream: s.thread, before: before, rank: s.device.rank.Number, launch: number,
		kernel: l.kernel.Name(), warps: map[[2]int]*race.Thread{}, barriers: map[[2]int]*race.Barrier{},
		shared: map[int]*race.Memory{}, sites: map[opKey]*race.Operation{}, arrivals: arrivals{},
		members: map[[2]int]*clusterBlock{}, resident: map[int]*clusterBlock{}, clusters: map[int]*clusterBarrier{},
		async: newAsynchronous(), retired: &s.retired,
	}
}

// warp is the thread of a warp, which begins after the commands before its kernel.
func (o *observer) warp(block, warp int) *race.Thread {
	number := [2]int{block, warp}
	if o.last != nil && o.lastNumber == number {
		return o.last
	}
	t := o.warps[number]
	if t == nil {
		t = o.retired.successor(o.run.detector, o.actor(block, warp), o.place(block), o.begin(block))
		o.warps[number] = t
		o.order = append(o.order, t)
	}
	o.last, o.lastNumber = t, number
	return t
}

func (o *observer) actor(block, warp int) Actor {
	return Actor{
		Rank: o.rank, Kernel: o.kernel, Launch: o.launch, Cluster: o.place(block).Cluster, Block: block, Warp: warp,
	}
}

// end orders what the grid has done before the next command of its stream.
func (o *observer) end() {
	var all race.Barrier
	for _, t := range o.order {
		o.run.detector.Arrive(&all, t)
	}
	o.async.end(&all, o.run.detector)
	o.ended = all.Moment()
	o.run.detector.After(o.stream, o.ended.AllSeen())
	o.retired.threads = append(o.retired.threads, o.order...)
}

// operation is the one of a site: all its executions share it.
func (o *observer) operation(site exec.Site, op race.Operation) *race.Operation {
	last := &o.lastOps[site.Number()%len(o.lastOps)]
	if last.site == site && last.op == op {
		return last.known
	}
	key := opKey{site, op}
	known := o.sites[key]
	if known == nil {
		of := op
		of.Site = site
		known = &of
		o.sites[key] = known
		o.run.owners[known] = o.id
	}
	*last = knownOp{key, known}
	return known
}

// Access implements exec.Observer.
func (o *observer) Access(at exec.Place, a *exec.ObservedAccess) {
	const largest = 16 // bytes of what a lane accesses at once
	t := o.warp(at.Block, at.Warp)
	op := race.Operation{
		Kind: kinds[a.Kind], Scope: scopeOf(a.Order, a.Scope), Acquire: acquires(a.Order), Release: releases(a.Order),
		Bytes: a.Bytes, ReadOnly: a.ReadOnly, Multicast: a.Multicast, Reduction: a.Reduction,
	}
	elements := a.Elements
	for op.Scope == race.NoScope && elements > 1 && op.Bytes < largest { // a weak vector is aligned as a whole
		op.Bytes, elements = 2*op.Bytes, elements/2
	}
	if op.Scope != race.NoScope && elements > 1 {
		op.Vector = elements
	}
	if a.Kind != exec.Reads && !a.Failed {
		o.run.changes++
	}
	if a.Kind == exec.Writes {
		o.run.progress++
	}
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), uint64(a.Lanes), uint64(a.Kind))
	if op.Scope != race.NoScope {
		o.behave(at, a)
	}
	if o.run.explores != nil {
		o.explore(at, a)
	}
	o.watched.access(o.run, at, a)
	o.checkBounds(at, a)
	for lanes := a.Lanes; lanes != 0; {
		memory, addresses, by := (*race.Memory)(nil), o.address[:0], uint32(0)
		for lane, addr := range a.Addresses { // of the memory of the first lane that is left
			if lanes>>lane&1 == 0 {
				continue
			}
			m := o.memoryOf(at, addr)
			if memory == nil {
				memory, op.Space = m, race.GlobalSpace
				if exec.IsShared(addr) {
					op.Space = race.SharedSpace
				}
			}
			if m == memory {
				addresses = append(addresses, addr)
				lanes &^= 1 << lane
				by |= 1 << lane
				o.run.trace.mix(addr)
			}
		}
		o.run.detector.Store(t, memory, o.operation(at.Site, op), by, a.Unchanged, addresses, elements)
	}
}

// memoryOf is the memory that holds an address which a warp accesses.
func (o *observer) memoryOf(at exec.Place, addr uint64) *race.Memory {
	switch {
	case exec.IsShared(addr):
		return o.sharedAt(at, addr)
	case exec.IsWorkspace(addr):
		return &o.workspace
	}
	return &o.run.memory.shadow
}

// sharedOf is the shared memory of a block.
func (o *observer) sharedOf(block int) *race.Memory {
	if o.lastShared != nil && o.lastBlock == block {
		return o.lastShared
	}
	m := o.shared[block]
	if m == nil {
		m = &race.Memory{Name: sharedMemory{o.rank, block}, Unwritten: o.run.uninitialized(sharedMemory{o.rank, block})}
		o.shared[block] = m
	}
	o.lastShared, o.lastBlock = m, block
	return m
}

// Fence implements exec.Observer.
func (o *observer) Fence(at exec.Place, order, scope string) {
	op := race.Operation{Kind: race.Fence, Scope: scopes[scope], Acquire: order != "release", Release: order != "acquire"}
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), uint64(op.Scope))
	o.run.detector.FenceByLanes(o.warp(at.Block, at.Warp), o.operation(at.Site, op), at.Lanes)
}

// Arrive implements exec.Observer.
func (o *observer) Arrive(at exec.Place, barrier int) {
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), uint64(barrier))
	o.run.detector.Arrive(o.barrier(at.Block, barrier), o.warp(at.Block, at.Warp))
	o.arrivals.arrive(o.run, o.watched.doer(at.Block, at.Warp), at, barrier)
	o.exploreArrival(at.Block, barrier)
}

// Release implements exec.Observer.
func (o *observer) Release(block, barrier int, warps []int) {
	var waiting []*race.Thread
	for _, w := range warps {
		waiting = append(waiting, o.warp(block, w))
	}
	o.run.detector.Release(o.barrier(block, barrier), waiting)
	if s := o.run.explores; s != nil {
		s.search.Meet(o.ids(block, warps))
	}
	o.arrivals.release(block, barrier, warps)
}

func (o *observer) barrier(block, number int) *race.Barrier {
	b := o.barriers[[2]int{block, number}]
	if b == nil {
		b = &race.Barrier{}
		o.barriers[[2]int{block, number}] = b
	}
	return b
}

// Unmodeled implements exec.Observer.
func (o *observer) Unmodeled(at exec.Place) {
	in := at.Site.Instruction()
	o.run.isIncomplete("%s at line %d of %s: not modeled", in.Opcode, in.Line, in.Module)
}

var kinds = [...]race.Kind{exec.Reads: race.Read, exec.Writes: race.Write, exec.Updates: race.Update}

// scopes are those that the modifiers name.
var scopes = map[string]race.Scope{
	"cta": race.BlockScope, "cluster": race.ClusterScope, "gpu": race.GPUScope, "sys": race.SystemScope,
}

// scopeOf is the scope of an access: volatile and mmio ones are relaxed at system scope.
func scopeOf(order, scope string) race.Scope {
	switch order {
	case "", "weak":
		return race.NoScope
	case "volatile", "mmio":
		return race.SystemScope
	}
	return scopes[scope]
}

func acquires(order string) bool { return order == "acquire" || order == "acq_rel" }

func releases(order string) bool { return order == "release" || order == "acq_rel" }
