package race

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A story is a line for each step of a thread. Threads have names such as 0.1: rank 0, block 1. A name with a letter
// behind it is another warp of the block. Words of one letter are places in memory, of 4 bytes each.
//
//	0.0 writes x            a weak write; "reads x" likewise
//	0.0 release.gpu f       a releasing write
//	0.0 relaxed.gpu f       a relaxed write
//	0.0 acquire.gpu f       an acquiring read
//	0.0 polls.gpu f         a relaxed read
//	0.0 adds.gpu f          a relaxed atomic operation; adds.acq_rel.gpu is an acquiring and releasing one
//	0.0/1                   of cluster 1; a block is a cluster of its own where none is named
//	0.0~ 0.1 bar            0.0 arrives relaxed, and waits
//	0.0 begins, 0.0 ends    the life of the memory
//	0.0 reduces.gpu f       a relaxed reduction, which returns nothing
//	0.0 fence.gpu           a fence that acquires and releases
//	0.0 0.0b bar            the block's barrier of these threads; 0.0+ arrives and does not wait
//	0.0 copies a x y        an asynchronous copy called a from x to y, through the async proxy unless copies.generic;
//	                        "reduces a x y" adds to y
//	0.0 awaits a            waits for that copy of its own; awaits.read for its reads alone
//	0.0 mbar a              waits for an mbarrier that the copy completes
//	0.0 fence.proxy.shared  a proxy fence; places are in shared memory
//	0.0:3 writes x          by lane 3 of thread 0.0, 0.0:3,4 by two of its lanes
//	0.0:3,4 meet            bar.warp.sync of these lanes, and "0.0 meet" of all; "votes" orders by hardware alone
//	0.0 grid 0.1            a grid of thread 0.1 follows
//	0.0 reads.nc x          a read by .nc
//	0.0 reads x as 3        by the instruction of step 3
type teller struct {
	d       *Detector
	memory  Memory
	threads map[string]*Thread
	copies  map[string]*Copy
}

func (s *teller) thread(name string) *Thread {
	name, _, _ = strings.Cut(name, ":")
	if t := s.threads[name]; t != nil {
		return t
	}
	var at Place
	if _, err := fmt.Sscanf(name, "%d.%d", &at.Rank, &at.Block); err != nil {
		panic(name)
	}
	at.Launch, at.Cluster = 1+at.Rank, at.Block
	if _, cluster, ok := strings.Cut(name, "/"); ok {
		at.Cluster = int(cluster[0] - '0')
	}
	s.threads[name] = s.d.NewThread(name, at, nil)
	return s.threads[name]
}

// lanesOf are those that a name has, or none.
func lanesOf(name string) (lanes uint32) {
	_, list, _ := strings.Cut(name, ":")
	for lane := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(lane); err == nil {
			lanes |= 1 << n
		}
	}
	return lanes
}

// orAllLanes are those of a name, or all.
func orAllLanes(name string) uint32 {
	if lanes := lanesOf(name); lanes != 0 {
		return lanes
	}
	return allLanes
}

// operations are the words of a story without their scope.
var operations = map[string]Operation{
	"writes": {Kind: Write}, "reads": {Kind: Read}, "wide": {Kind: Write}, "reads.nc": {Kind: Read, ReadOnly: true},
	"release": {Kind: Write, Release: true}, "relaxed": {Kind: Write}, "acquire": {Kind: Read, Acquire: true},
	"polls": {Kind: Read}, "adds": {Kind: Update}, "adds.acq_rel": {Kind: Update, Acquire: true, Release: true},
	"reduces": {Kind: Update, Reduction: true},
	"fence":   {Kind: Fence, Acquire: true, Release: true},
}

func (s *teller) tell(number int, step string) {
	words := strings.Fields(step)
	if of, err := strconv.Atoi(words[len(words)-1]); err == nil {
		number, words = of, words[:len(words)-2]
	}
	if words[len(words)-1] == "bar" {
		var all []*Thread
		var b Barrier
		for _, name := range words[:len(words)-1] {
			name, arrives := strings.CutSuffix(name, "+")
			name, relaxed := strings.CutSuffix(name, "~")
			if relaxed {
				s.d.ArriveRelaxed(&b, s.thread(name))
			} else {
				s.d.Arrive(&b, s.thread(name))
			}
			if !arrives {
				all = append(all, s.thread(name))
			}
		}
		s.d.Release(&b, all)
		return
	}
	if s.tellAsync(number, words) {
		return
	}
	what, scope := words[1], NoScope
	switch op := (&Operation{Kind: Write, Bytes: 1, Site: number}); what {
	case "begins":
		s.d.BeginMemory(s.thread(words[0]), &s.memory, op)
		return
	case "meet", "votes":
		s.d.SyncWarp(s.thread(words[0]), orAllLanes(words[0]), what == "meet")
		return
	case "ends":
		s.d.EndMemory(s.thread(words[0]), &s.memory, 0, 1<<20, op)
		return
	}
	for i, name := range scopeNames {
		if before, ok := strings.CutSuffix(what, "."+name); ok {
			what, scope = before, Scope(i)
		}
	}
	op, ok := operations[what]
	if !ok {
		panic(step)
	}
	op.Scope, op.Bytes, op.Space, op.Site = scope, 4, SharedSpace, number
	if op.Kind == Fence {
		s.d.FenceByLanes(s.thread(words[0]), &op, orAllLanes(words[0]))
		return
	}
	address := uint64(words[2][0]) * 8
	if what == "wide" {
		op.Bytes = 8
	}
	lanes := lanesOf(words[0])
	addresses := slices.Repeat([]uint64{address}, max(1, bits.OnesCount32(lanes)))
	s.d.AccessByLanes(s.thread(words[0]), &s.memory, &op, lanes, addresses, 1)
}

// tellAsync tells a step of an asynchronous copy, of proxies or of grids; false: the step is another one.
func (s *teller) tellAsync(number int, words []string) bool {
	t := s.thread(words[0])
	switch what := words[1]; what {
	case "copies", "copies.generic", "reduces":
		op := Operation{Bytes: 4, Space: SharedSpace, Proxy: Async, Site: number}
		if what == "copies.generic" {
			op.Proxy = Generic
		}
		from, to := op, op
		to.Kind = Write
		if what == "reduces" {
			to.Kind, to.Scope = Update, GPUScope
		}
		k := s.d.Begin(t, s.d.NewChannel())
		s.copies[words[2]] = k
		s.d.Access(k.Reads, &s.memory, &from, []uint64{uint64(words[3][0]) * 8}, 1)
		s.d.Access(k.Writes, &s.memory, &to, []uint64{uint64(words[4][0]) * 8}, 1)
	case "awaits", "awaits.read":
		s.d.Wait(t, []*Copy{s.copies[words[2]]}, what == "awaits.read")
	case "mbar":
		var b Barrier
		s.d.ArriveCopy(&b, s.copies[words[2]], false)
		s.d.After(t, b.Moment())
	case "fence.proxy.global":
		s.d.FenceProxy(t, GlobalSpace)
	case "fence.proxy.shared":
		s.d.FenceProxy(t, SharedSpace)
	case "grid":
		var at Place
		if _, err := fmt.Sscanf(words[2], "%d.%d", &at.Rank, &at.Block); err != nil {
			panic(words[2])
		}
		at.Launch = 100
		s.threads[words[2]] = s.d.NewThread(words[2], at, s.d.Now(t))
	default:
		return false
	}
	return true
}

// races tells a story and returns the races, by the numbers of the two steps.
func races(story string) []string {
	s := &teller{d: New(), threads: map[string]*Thread{}, copies: map[string]*Copy{}}
	for i, step := range strings.Split(strings.TrimSpace(story), "\n") {
		s.tell(i+1, step)
	}
	var all []string
	for _, f := range s.d.Findings() {
		text := fmt.Sprintf("%v-%v %s", f.First.Op.Site, f.Second.Op.Site, f.Cause)
		if f.Flag != nil {
			text += fmt.Sprintf(" by %v-%v", f.Flag.Release.Op.Site, f.Flag.Acquire.Op.Site)
		}
		if f.Hardware {
			text += ", but hardware"
		}
		all = append(all, text)
	}
	return all
}
