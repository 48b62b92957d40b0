// Package exec compiles parsed PTX to an internal form and runs it on the
// host's CPU.
//
// A step executes one instruction for the 32 lanes of a warp. A register is
// an array of 32 lanes of 64 bits; a value narrower than that is kept
// zero-extended. A predicate is a word with a bit per lane. A register whose lanes count
// evenly, as addresses do, is kept as affine, and its lanes are written when an op wants them
// (affine.go, registers.go).
//
// Lanes that take different branches become paths: a path is a program
// counter and the set of lanes that are there. The path with the lowest
// program counter runs first, and paths that meet are merged. A path that
// spins gives way to the others, so that a lane may wait for another lane of
// its own warp, as on GPUs since Volta.
//
// Warps run in turns, a quantum of instructions each. A warp that takes a
// backward branch after polling exactly what it polled the last time is
// spinning, and its turn ends at once.
//
// Memory is in order by default: every store is visible when it is executed.
// With [Config.Disorder] a grid uses the freedom that the PTX memory model
// gives, so that kernels which rely on more are seen to fail; disorder.go says
// what is kept and what goes unnoticed. Asynchronous copies are done when a
// thread waits for their group, or before the block's next turn, with disorder
// before some later one; multiplications by warpgroups when a warp waits for them, or with
// disorder at random before (asyncmma.go). A tensor map is in an encoding of this
// package's own.
//
// The blocks of a cluster are resident together. A shared address carries the
// rank of its block, and to touch the memory of a block that may not have begun or
// has exited is a fault, whether the block happens to run or not.
//
// Matrices are multiplied as the tensor cores in [Config.TensorCores] do it: of 16-bit
// floats, to .f32, by mma.sync and wgmma. An instruction that is .aligned waits for all
// lanes of its warp, though a GPU may not.
//
// Reductions over the members of a multicast address are made in their order.
// Where an instruction names no accumulator, each step is rounded to the type of
// the elements; a GPU may round otherwise there.
//
// The package knows neither processes, nor threads, nor clocks: memory and
// time come in through [Memory] and [Clock], and [Grid.Round] returns to its
// caller, who decides what runs next. Nothing is global: any number of grids
// may run side by side.
package exec

// Address space. A generic address is 64 bits: the region in the upper 24,
// the offset in the lower 40. Region 0 holds the null pointer and is invalid;
// the windows below are the executor's; regions from FirstRegion on belong to
// whoever implements Memory.
const (
	RegionShift = 40
	FirstRegion = 16

	sharedWindow = 1 << RegionShift
	localWindow  = 2 << RegionShift
	paramWindow  = 3 << RegionShift
)

// Memory gives the executor access to device memory.
type Memory interface {
	// Resolve finds the mapped region that holds addr. The region stays
	// mapped while the grid that asked is running.
	Resolve(addr uint64) (Region, bool)
}

// Region is a range of device addresses and the host memory behind it.
type Region struct {
	Base uint64 // a multiple of 256
	Data []byte // aligned to at least 16 bytes
	// Identity, where it is not 0, is the same for all regions with this memory, and
	// for no others that share a History.
	Identity uint64
	// Members makes the range a multicast one, without Data: an address in it
	// stands for those at the same offset in the members, which are of one size
	// and no multicast regions themselves. Only multimem instructions take it.
	Members []Region
}

// Clock is the time that kernels see.
type Clock interface {
	// Nanoseconds is the value of %globaltimer.
	Nanoseconds() uint64
}

// Stats counts what a grid has executed.
type Stats struct {
	WarpInstructions uint64
	LaneInstructions uint64
}
