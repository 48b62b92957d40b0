package exec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"gpurun/cudart"
	"gpurun/cudart/sim/simd"
	"gpurun/cudart/sim/tensorcore"
)

// Limits of a launch.
const (
	// MaxSharedBytes is the most shared memory of a block on any GPU, static and dynamic. CUDA's compiler
	// takes 48 KB of static memory, the driver's (580) what the GPU has.
	MaxSharedBytes = 227 << 10
	// MaxResident is how many blocks of a grid run at once. Blocks that wait
	// for blocks of a higher number than that wait for ever, as on a GPU that
	// is too small for the grid.
	MaxResident = 1024
)

// Config is what a launch adds to a kernel.
type Config struct {
	// The shape is as in [cudart.Launch]: Blocks, Threads and Cluster if it has one dimension.
	Blocks, Threads, Cluster      int
	GridDim, BlockDim, ClusterDim cudart.Dim3

	Cooperative bool // all blocks are resident at once; see cooperative.go
	SharedBytes int  // dynamic shared memory per block
	SharedLimit int  // the most shared memory of a block; 0 for MaxSharedBytes
	Params      []byte
	Image       uint64 // device address of the module's variables
	Functions   uint64 // that of its functions, a FunctionsAddress; 0 for the first one
	SMs         int    // what %nsmid says; at least 1
	Resident    int    // how many blocks run at once; 0 for MaxResident
	Memory      Memory
	Clock       Clock
	TensorCores tensorcore.Model // the arithmetic of mma and wgmma
	// Heap is where malloc allocates; it must not be nil where the kernel UsesHeap.
	Heap Allocator
	// Output is where printf writes; nil discards the text.
	Output io.Writer
	// Stop, where it is not nil, is asked now and then whether to end the grid.
	Stop func() bool
	// PriorDone, where it is not nil, says whether the grid has completed that
	// griddepcontrol.wait waits for.
	PriorDone func() bool
	// TearVectors makes vector accesses element by element, which is all that PTX promises
	// (mem_whole.go).
	TearVectors bool
	// Disorder, where it is not nil, is the grid's source of random numbers for
	// memory disorder: blocks and warps take short turns in random order,
	// stores become visible late, and weak loads see old values. The outcome depends on
	// nothing else but the accesses of others to memory, and their time.
	Disorder *rand.Rand
	// Turns, where it is not nil, is the grid's source of random numbers for the order and the length of the turns that
	// blocks and warps take. Memory stays in order. With Disorder it is not used.
	Turns *rand.Rand
	// Observer is told what the warps do. A kernel of an observed program needs one, and no other takes one.
	Observer Observer
	// EachAccess makes a turn with a limit of accesses count weak ones and arrivals at barriers, too: see [Warp.Turn].
	EachAccess bool
	// History is that of the memory, with disorder; nil: no other grid writes to it.
	History *History
	// GPUScope are the stores that grids of the device have released at .gpu scope, with disorder;
	// nil: this grid is the only one.
	GPUScope *GPUScopeStores
}

// ErrStopped is what Round returns after Config.Stop has said so.
var ErrStopped = errors.New("the kernel was stopped")

// Grid is a launched kernel. It belongs to one goroutine at a time.
type Grid struct {
	kernel *Kernel
	cfg    Config
	shape
	params     span
	workspace  span
	cache      [simd.RegionCount]span // regions by the low bits of their number
	turns      *rand.Rand             // Config.Disorder or Config.Turns
	multicasts map[uint64]Region      // multicast regions by their number
	// regions are those that were accessed, with disorder.
	regions []trackedRegion

	gpuScope *GPUScopeStores
	blocks   []*block
	next     int // the first cluster that has not been started
	progress bool
	now      uint64 // when the turn began

	sentinel   *warp // the parked warp that polls
	awakeTurns int   // for which no warp is parked

	retired  []*storeBuffer // of blocks that have exited
	endDelay int            // turns for which the grid stays after its blocks have exited, while stores are pending
	stats    Stats
	scratch  matrixScratch
	fences   atomic.Uint64

	observed ObservedAccess // by Config.Observer

	chosen bool     // the caller chooses whose turn it is
	sync   syncTurn // likewise
	woken  []int    // likewise: blocks of which a barrier let warps go on
	tested struct { // the load whose tests an observer has asked for last
		pc    int32
		tests *loadTests
	}
}

// State is what a turn found.
type State uint8

// The states of a grid after a turn.
const (
	Running State = iota // some warp made progress
	Idle                 // every warp polls memory, or waits for one that does
	Done                 // all threads have exited
)

// Launch checks cfg against the kernel and makes its blocks resident. Nothing
// runs yet.
func Launch(k *Kernel, cfg Config) (*Grid, error) {
	if err := cfg.Check(k); err != nil {
		return nil, fmt.Errorf("launching %s: %w", k.Name, err)
	}
	if cfg.History == nil {
		cfg.History = &History{}
	}
	if cfg.GPUScope == nil {
		cfg.GPUScope = &GPUScopeStores{}
	}
	if cfg.Functions == 0 {
		cfg.Functions = FunctionsAddress(0)
	}
	g := &Grid{kernel: k, cfg: cfg, shape: cfg.shape(k), gpuScope: cfg.GPUScope, multicasts: map[uint64]Region{}}
	g.turns = cmp.Or(cfg.Disorder, cfg.Turns)
	params := zeroed(k.ParamBytes)
	copy(params, cfg.Params)
	g.params = newSpan(paramWindow, params)
	if r := cfg.Disorder; r != nil {
		g.endDelay = r.IntN(1 << r.IntN(maxEndDelayLog2))
	}
	g.workspace = cfg.workspace()
	g.startClusters()
	return g, nil
}

// startClusters makes clusters resident while there is room.
func (g *Grid) startClusters() {
	for len(g.blocks)+g.clusterBlocks <= g.mostResident() && g.next < g.clusterCount {
		g.blocks = append(g.blocks, newCluster(g, g.next).blocks...)
		g.next++
		g.progress = true
	}
}

// mostResident is how many blocks run at once: one cluster at least.
func (g *Grid) mostResident() int { return max(cmp.Or(g.cfg.Resident, MaxResident), g.clusterBlocks) }

// Turn gives every resident warp a turn of at most quantum instructions. An
// error, a *Fault or ErrStopped, ends the grid.
func (g *Grid) Turn(quantum int) (State, error) {
	g.progress = false
	g.now, g.awakeTurns = g.cfg.Clock.Nanoseconds(), max(0, g.awakeTurns-1)
	g.disorderTurn()
	polling := false
	for i := 0; i < len(g.blocks); {
		if g.cfg.Stop != nil && g.cfg.Stop() {
			return Done, ErrStopped
		}
		b := g.blocks[i]
		spun, err := b.turn(quantum)
		if err != nil {
			return Done, err
		}
		polling = polling || spun
		if b.running > 0 {
			i++
			continue
		}
		if err := g.leave(b); err != nil {
			return Done, err
		}
	}
	g.startClusters()
	switch {
	case len(g.blocks) == 0 && g.delaysEnd():
		return Running, nil
	case len(g.blocks) == 0:
		g.flushAll()
		return Done, nil
	case g.progress, g.hasPendingStores():
		return Running, nil
	case polling:
		return Idle, nil
	}
	return Done, g.deadlock()
}

// turn gives each warp of a block a turn; spun reports that one was polling.
func (b *block) turn(quantum int) (spun bool, err error) {
	if !b.started {
		b.start()
	}
	b.dropSomeOverwritten()
	b.performDue()
	if err := b.multiplySome(3); err != nil {
		return false, err
	}
	if err := b.performTensor(); err != nil {
		return false, err
	}
	b.shuffle()
	for _, w := range b.warps {
		if w.live == 0 {
			continue
		}
		end, err := w.turn(w.turnLength(quantum))
		if err != nil {
			return false, err
		}
		switch end {
		case spins:
			spun = true
		case exited:
			b.running--
			b.grid.progress = true
		case busy:
			// A random turn may end anywhere in a loop that spins.
			if b.grid.turns != nil && w.spun {
				spun = true
				continue
			}
			b.grid.progress = true
		}
	}
	return spun, nil
}

// deadlock describes a grid in which nothing can ever run again.
func (g *Grid) deadlock() error {
	b := g.blocks[0]
	var at []string
	var first *warp
	for _, w := range b.warps {
		for _, s := range w.paths[:w.others] {
			if first == nil {
				first, w.current = w, s
			}
			in := g.kernel.code[s.pc].inst
			at = append(at, fmt.Sprintf("warp %d lanes %#x at line %d", w.index, s.mask, in.Line))
		}
	}
	if len(at) > 8 {
		at = append(at[:8], fmt.Sprintf("and %d more", len(at)-8))
	}
	return first.fault(Deadlock, lowest(first.current.mask), "no thread can go on: %s", strings.Join(at, ", "))
}

// Stats returns the counts so far.
func (g *Grid) Stats() Stats { return g.stats }
