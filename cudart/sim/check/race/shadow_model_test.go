package race

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// model decides by brute force what races: it keeps each access to each byte, and compares a new one with all of them.
// The accesses are weak. It knows nothing of cells, pages and chunks.
type model struct {
	times  [modelThreads][modelThreads]int // of each thread: the times of all threads that happen before it
	synced [modelThreads]int               // how often the lanes of a thread have met
	back   [modelThreads]int               // the own time that has come back to a thread from another one
	bytes  map[uint64][]modelAccess
	raced  map[uint64]bool // bytes on which two accesses race: FastTrack promises the first race of each byte
}

const (
	modelThreads = 4
	streams      = 2 // the threads from this one on are streams, which have no lanes
)

// isFollowed reports whether the model has a byte: those that single accesses reach, near the begin and the end of a
// chunk.
func isFollowed(addr uint64) bool {
	return addr%chunkBytes < 8*pageBytes || addr%chunkBytes >= chunkBytes-pageBytes
}

// modelAccess is an access to a byte.
type modelAccess struct {
	step, thread, time, synced int
	writes                     bool
	lanes                      uint32 // that access this byte; 0: they are not told apart
}

// join orders what a thread has done before what another one does.
func (m *model) join(later, earlier int) {
	m.back[later] = max(m.back[later], m.times[earlier][later])
	for i, t := range m.times[earlier] {
		m.times[later][i] = max(m.times[later][i], t)
	}
	m.times[earlier][earlier]++
}

// happensBefore reports whether an access happens before one to the same byte.
func (m *model) happensBefore(old, now modelAccess) bool {
	if old.thread != now.thread {
		return old.time <= m.times[now.thread][old.thread]
	}
	others := func(a, b uint32) bool { return a != 0 && b&^a != 0 }
	return old.synced < now.synced || !others(old.lanes, now.lanes) && !others(now.lanes, old.lanes)
}

// access adds an access to a byte, and returns the steps that it races with. First says that the byte had no race
// before.
func (m *model) access(addr uint64, now modelAccess) (steps []int, first bool) {
	for i, old := range m.bytes[addr] {
		if (old.writes || now.writes) && !m.happensBefore(old, now) {
			steps = append(steps, old.step)
			// Two limits of this package: of the reads of a warp the last one is kept, and what orders two of its lanes by
			// way of another warp does not count.
			isAgain := func(a modelAccess) bool { return a.thread == old.thread }
			kept := old.writes || !slices.ContainsFunc(m.bytes[addr][i+1:], isAgain)
			first = first || old.thread != now.thread || kept && old.time > m.back[now.thread]
		}
	}
	first = first && !m.raced[addr]
	m.raced[addr] = m.raced[addr] || len(steps) > 0
	m.bytes[addr] = append(m.bytes[addr], now)
	return steps, first
}

// modelled runs random steps in the detector and in the model.
type modelled struct {
	*rand.Rand
	d       *Detector
	memory  Memory
	threads [modelThreads]*Thread
	model   model
	base    uint64    // of the accesses of this story
	sizes   [2]uint64 // of its elements
	story   string
	races   map[[2]int]bool // by the steps of both accesses
	must    map[int]bool    // steps of which the detector has to find a race
}

func newModelled(seed uint64) *modelled {
	m := &modelled{
		Rand: rand.New(rand.NewPCG(seed, 0)), d: New(), races: map[[2]int]bool{}, must: map[int]bool{},
		model: model{bytes: map[uint64][]modelAccess{}, raced: map[uint64]bool{}},
	}
	m.base = []uint64{0, pageBytes - 64, chunkBytes - 128}[m.IntN(3)]
	m.sizes = [2]uint64{1 << m.IntN(5), 1 << m.IntN(5)}
	for i := range m.threads {
		m.threads[i] = m.d.NewThread(i, Place{Rank: i, Launch: 1 + i}, nil)
		m.model.times[i][i] = 1
	}
	return m
}

// step does something.
func (m *modelled) step(number int) {
	t := m.IntN(modelThreads)
	switch m.IntN(12) {
	case 0, 1, 2:
		later := (t + 1 + m.IntN(modelThreads-1)) % modelThreads
		m.story += fmt.Sprintf("%d: %d is behind %d\n", number, later, t)
		m.model.join(later, t)
		m.d.Join(m.threads[later], m.threads[t])
	case 3:
		m.story += fmt.Sprintf("%d: the lanes of %d meet\n", number, t)
		m.model.synced[t]++
		m.d.SyncWarp(m.threads[t], allLanes, true)
	case 4:
		if m.IntN(3) == 0 { // a copy or a fill of a whole chunk
			op := &Operation{Kind: Kind(m.IntN(2)), Bytes: pageBytes, Site: number}
			m.access(number, streams+m.IntN(2), op, 0, []uint64{0}, chunkBytes/pageBytes)
		}
	default:
		m.accessSome(number, t)
	}
}

// accessSome is an access to some bytes near the begin of a chunk, or the end of a page or of a chunk.
func (m *modelled) accessSome(number, t int) {
	op := &Operation{Kind: Kind(m.IntN(2)), Bytes: m.sizes[m.IntN(2)], Site: number}
	elements := 1 << m.IntN(3)
	size := op.Bytes * uint64(elements)
	base := m.base
	if m.IntN(4) == 0 {
		base = chunkBytes
	}
	begin := base + uint64(m.IntN(4))*16/size*size
	lanes := []uint32{allLanes, allLanes, 0xff, 1 << m.IntN(4)}[m.IntN(4)]
	if t >= streams {
		lanes = 0
	}
	stride := size << (m.IntN(3) / 2)
	if op.Kind == Read && m.IntN(4) == 0 {
		stride = 0
	}
	var addresses []uint64
	for i := range max(1, bits.OnesCount32(lanes)) {
		addresses = append(addresses, begin+uint64(i)*stride)
	}
	switch n := len(addresses) / 2; m.IntN(8) {
	case 0:
		slices.Reverse(addresses)
	case 1:
		if op.Kind == Read && n > 0 { // two rows of a tile
			copy(addresses[n:], addresses[:n])
		}
	case 2:
		if op.Kind == Read && n > 0 { // rows that begin at one place
			addresses[n] = addresses[0]
		}
	}
	m.access(number, t, op, lanes, addresses, elements)
}

// access is an access in the detector and in the model.
func (m *modelled) access(number, t int, op *Operation, lanes uint32, addresses []uint64, elements int) {
	m.story += fmt.Sprintf("%d: %d %v %d elements of %d bytes at %v by lanes %#x\n", number, t, op.Kind, elements,
		op.Bytes, addresses, lanes)
	by := map[uint64]uint32{} // bytes
	for i, left := 0, lanes; i < len(addresses); i++ {
		for b := range op.Bytes * uint64(elements) {
			if isFollowed(addresses[i] + b) {
				by[addresses[i]+b] |= left & -left
			}
		}
		left &= left - 1
	}
	for addr, lanes := range by {
		steps, first := m.model.access(addr, modelAccess{
			step: number, thread: t, time: m.model.times[t][t], synced: m.model.synced[t], writes: op.Kind == Write,
			lanes: lanes,
		})
		for _, old := range steps {
			m.races[[2]int{old, number}] = true
		}
		if first {
			m.must[number] = true
		}
	}
	m.d.AccessByLanes(m.threads[t], &m.memory, op, lanes, addresses, elements)
}

// compare compares what the detector has found with the model.
func (m *modelled) compare(t *testing.T, seed uint64) {
	t.Helper()
	found := map[int]bool{}
	for _, f := range m.d.Findings() {
		pair := [2]int{f.First.Op.Site.(int), f.Second.Op.Site.(int)}
		if !m.races[pair] {
			t.Errorf("seed %d: steps %v do not race", seed, pair)
		}
		found[pair[1]] = true
	}
	for step := range m.must {
		if !found[step] {
			t.Errorf("seed %d: no race of step %d is found", seed, step)
		}
	}
	if t.Failed() {
		t.Fatal(m.story)
	}
}

// The shadow memory tells what a list of all accesses to each byte would tell, however its cells are split, joined and
// left out: each race that it reports is one, and the first race of each byte is reported.
func TestShadowIsLikeAllAccesses(t *testing.T) {
	stories := 800
	if os.Getenv("GPURUN_EXHAUSTIVE") == "1" {
		stories = 10_000
	}
	races := 0
	for seed := range uint64(stories) {
		m := newModelled(seed)
		for number := range 2 + m.IntN(20) {
			m.step(number)
		}
		m.compare(t, seed)
		races += len(m.must)
	}
	if races < stories/2 || races > 20*stories {
		t.Errorf("%d stories have %d steps that race", stories, races)
	}
}
