package check

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// waitGraph is who waits for whom when nothing can go on.
type waitGraph struct {
	run   *run
	waits []wait
}

// wait is one of them, with what says who may end it.
type wait struct {
	finding.Wait
	launch *watchedGrid // nil for hosts
	state  exec.WaitState
	lanes  uint32
	site   exec.Site
	count  int // barrier
	addr   uint64
	shared bool
	wanted int
	passed *passedWord // or nil
}

// Bounds of what a wait-for graph has.
const (
	mostWords = 2   // of one warp's loop
	mostWaits = 256 // of a deadlock; the others are like them
)

// waitGraph describes all that waits: the hosts, then the warps of each launch.
func (r *run) waitGraph() *waitGraph {
	g := &waitGraph{run: r}
	for _, rank := range r.ranks {
		if h := rank.host; !h.ended {
			by := Actor{Rank: rank.Number, Command: "host code"}
			g.waits = append(g.waits, wait{Wait: finding.Wait{
				Access: Access{Actor: by, Kind: race.Read, Text: h.doing}, For: h.doing,
			}})
		}
	}
	for _, s := range r.streams {
		if v, ok := s.task.(*valueWait); ok {
			g.addValueWait(s, v)
		}
	}
	for _, w := range r.grids {
		if w.grid != nil {
			g.addWarps(w)
		}
	}
	for i := range g.waits {
		g.waits[i].On = g.endersOf(&g.waits[i])
	}
	return g
}

// addValueWait adds a WaitValue.
func (g *waitGraph) addValueWait(s *stream, v *valueWait) {
	by := Actor{Rank: s.device.rank.Number, Command: fmt.Sprintf("stream %d", s.number)}
	w := wait{addr: uint64(v.addr)}
	w.Access = Access{Actor: by, Kind: race.Read, Text: finding.WaitValue}
	w.For, w.Test = g.run.memory.describe(w.addr), fmt.Sprintf("value - %d < 0", v.value)
	if word, err := g.run.memory.bytes(v.addr, 4); err == nil {
		w.Value = valueText(wordOf(word))
	}
	g.waits = append(g.waits, w)
}

// addWarps adds the warps of a launch.
func (g *waitGraph) addWarps(l *watchedGrid) {
	for _, w := range l.grid.Waits() {
		if len(g.waits) >= mostWaits {
			return
		}
		d := l.doer(w.Block, w.Warp)
		at := wait{launch: l, state: w.State, lanes: w.Lanes, site: w.Site}
		at.Access, at.Barrier = sideOf(d, w.Site, race.Read), w.State == exec.AtBarrier
		switch w.State {
		case exec.AtBarrier:
			at.count, at.wanted = w.Barrier, w.Wanted
			at.For = fmt.Sprintf("barrier %d of its block, where %d of %d threads have arrived", w.Barrier, w.Arrived, w.Wanted)
		case exec.ForLanes:
			at.For = fmt.Sprintf("other lanes of its warp; it has lanes %#x", w.Lanes)
		case exec.ForBlocks:
			at.For = "the other blocks of its cluster, or the kernel before it"
		case exec.ForGroup:
			at.For = "the other warps of its warpgroup"
		case exec.ForTensorMemory:
			at.For = "tensor memory, which its block has to free, or the other block of its pair to allocate"
		case exec.Polling:
			g.addWords(d, at)
			continue
		default:
			at.For = "nothing"
		}
		g.waits = append(g.waits, at)
	}
}

// addWords adds a wait for each word that a loop polls most often. A word that the lanes read once in many polls, such
// as one that says whether to give up, is none of those.
func (g *waitGraph) addWords(d *doer, at wait) {
	loop := d.polls.loop(g.run, d)
	most, words := times(loop), 0
	for _, p := range loop {
		p.each(func(lane int, addr uint64) {
			if at.lanes>>lane&1 == 0 || 2*p.times < most || words == mostWords || g.knows(d, addr) {
				return
			}
			words++
			g.waits = append(g.waits, g.word(d, at, p, lane, addr))
		})
	}
	if words == 0 {
		at.For = "a word that it polls"
		g.waits = append(g.waits, at)
	}
}

func (g *waitGraph) knows(d *doer, addr uint64) bool {
	return slices.ContainsFunc(g.waits, func(w wait) bool {
		return w.launch == d.grid && w.Block == d.Block && w.Warp == d.Warp && w.addr == d.grid.unique(addr)
	})
}

// word is a wait for a word. Of a vector it is the first element that the code compares with something.
func (g *waitGraph) word(d *doer, at wait, p *pollRead, lane int, addr uint64) wait {
	addr = d.grid.unique(addr)
	size := p.bytes / uint64(p.elements)
	element := 0
	for element+1 < p.elements && p.at.TestText(lane, element) == "" {
		element++
	}
	word := addr + uint64(element)*size
	at.Access, at.site, at.addr, at.shared = sideOf(d, p.at.Site, race.Read), p.at.Site, addr, exec.IsShared(addr)
	if at.isMbarrier() {
		return g.mbarrier(d, at)
	}
	at.For = g.run.whereSeen(d, word)
	value := wordOf(g.run.holds(d.grid, d.Block, word, min(size, 8)))
	at.Value, at.Test = valueText(value), p.at.TestText(lane, element)
	if w := g.run.signals.word(word, false); w != nil && !at.shared {
		at.passed = w.passedBy(p.at, lane, element, value)
		for _, s := range w.writers {
			a := s.access()
			if !slices.ContainsFunc(at.Writers, func(o Access) bool { return o.Who() == a.Who() && o.Place() == a.Place() }) {
				at.Writers = append(at.Writers, a)
			}
		}
	}
	return at
}

// whereSeen describes an address for people, as a warp sees it.
func (r *run) whereSeen(d *doer, addr uint64) string {
	if exec.IsShared(addr) {
		return r.where(sharedMemory{d.Rank, d.Block}, addr)
	}
	return r.where(nil, addr)
}

// endersOf are the waits whose end may end a wait.
func (g *waitGraph) endersOf(w *wait) []int {
	may := func(o *wait) bool { return false }
	switch {
	case w.launch == nil && w.addr == 0:
		may = func(o *wait) bool {
			if w.Text == waitsToMeet {
				return o.launch == nil && o.Text != waitsToMeet
			}
			return (o.launch != nil || o.addr != 0) && o.Rank == w.Rank
		}
	case w.state == exec.AtBarrier:
		may = func(o *wait) bool {
			return o.launch == w.launch && o.Block == w.Block && (o.state != exec.AtBarrier || o.count != w.count)
		}
	case w.state == exec.ForLanes:
		may = func(o *wait) bool {
			return o.launch == w.launch && o.Block == w.Block && o.Warp == w.Warp && o.lanes != w.lanes
		}
	case w.shared, w.state == exec.ForGroup, w.state == exec.ForTensorMemory:
		may = func(o *wait) bool {
			same := w.isMbarrier() && o.addr == w.addr
			return o.launch == w.launch && o.Block == w.Block && (o.Warp != w.Warp || o.lanes != w.lanes) && !same
		}
	case w.addr != 0:
		may = g.writersOf(w)
	}
	var all []int
	for i := range g.waits {
		if o := &g.waits[i]; o != w && may(o) {
			all = append(all, i)
		}
	}
	return all
}

// writersOf tells who may write a word of global memory. If it was written before, that is the same block of the same
// rank. Otherwise it is a warp with an instruction ahead that has written to such memory of any rank, and of the same
// rank only if ranks write to such memory of their own; and where no instruction has, one with any write ahead.
func (g *waitGraph) writersOf(w *wait) func(o *wait) bool {
	where, owner := g.run.memory.rangeOf(w.addr)
	known := g.run.signals.writers[where]
	return func(o *wait) bool {
		if o.launch == nil || o.launch == w.launch && o.Block == w.Block && o.Warp == w.Warp {
			return false
		}
		if exec.IsWorkspace(w.addr) && o.launch != w.launch {
			return false
		}
		if known != nil && !known.own && o.Rank == owner {
			return false
		}
		if len(w.Writers) > 0 && !slices.ContainsFunc(w.Writers, func(a Access) bool {
			sameBlock := a.Rank == o.Rank && a.Kernel == o.Kernel && a.Block == o.Block
			return sameBlock && (a.Warp == o.Warp || o.state == exec.AtBarrier)
		}) {
			return false
		}
		ahead := o.site.WritesAhead()
		if known == nil {
			return len(ahead) > 0
		}
		return slices.ContainsFunc(ahead, func(s exec.Site) bool { return slices.Contains(known.sites, s) })
	}
}

// lines are the first waits, for an error.
func (g *waitGraph) lines() []string {
	const most = 6
	var all []string
	for i := range g.waits {
		if len(all) == most {
			return append(all, fmt.Sprintf("and %d more", len(g.waits)-most))
		}
		all = append(all, g.waits[i].String())
	}
	return all
}

// valueText is the value of a word: in hexadecimal, where it is large.
func valueText(value uint64) string {
	const large = 1 << 16
	if value >= large {
		return fmt.Sprintf("%#x", value)
	}
	return fmt.Sprint(value)
}
