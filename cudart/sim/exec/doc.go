// Package exec compiles parsed PTX to an internal form and runs it on the
// host's CPU.
//
// The files by their names:
//
//	doc, program, op, compile*       PTX to ops: operands, register allocation
//	link, layout, image, target      a kernel with the functions that it calls; variables
//	call*, alloca                    calls and the stack
//	external, heap, printf*          functions of the system: assert, printf, malloc
//	fault, origin                    errors of kernels, and where in the source they are
//	table*                           which instructions there are, by section of the PTX ISA
//	launch, cooperative              the shape of a launch, and what a kernel demands of it
//	grid, cluster, block, warp       what runs, in turns
//	divergence, control, registers   the paths of a warp, branches, its register file
//	affine*                          registers kept as base and stride
//	vector*                          the lanes of a register at once, by assembly
//	arith_*                          arithmetic, conversions, comparisons, moves
//	mem_*                            loads, stores, atomics, multimem, addresses
//	sync_*                           barriers, fences, votes and shuffles, dependent launch
//	copy_*                           cp.async, bulk and tensor copies, mbarrier
//	matrix_*                         mma, wmma, wgmma, ldmatrix
//	tcgen05*                         tensor memory, and the tensor cores of the 5th generation
//	order_*                          the memory model: what is seen when, with disorder
//	observe*                         what an observer is told of accesses, copies, fences and barriers
//
// An op executes one instruction for the 32 lanes of a warp. A register is
// an array of 32 lanes of 64 bits; a narrower value is kept zero-extended. A predicate is a lane
// mask. A register that holds an affine value, as addresses do, is kept as base and stride; its
// lanes are written when an op needs them.
//
// When lanes diverge, a warp has several paths: a path is a program counter and the lane mask of
// the lanes that are there. The path with the lowest program counter runs first, and paths at the same
// program counter are merged. A path that spins lets the others run, so that a lane may wait for
// another lane of its own warp, as on GPUs since Volta.
//
// A kernel is compiled when it is looked up, with the functions that it may call. Each of them has
// registers of its own in the warp's file, and for each call a frame in local memory. A lane has a stack of
// the places to return to. Paths in deeper calls run first, so that lanes are together again when their
// calls have ended.
//
// Warps run in turns of at most a quantum of instructions. A warp is spinning, and its turn ends,
// when it takes a backward branch after polling the same values as the last time that it took it (loops.go). A warp that
// spins is parked until memory that it polls changes (order_park.go).
//
// Where the processor has AVX2, assembly of package simd executes runs of instructions, each in one
// call: arithmetic on lanes and on affine values, comparisons, and weak accesses of adjacent lanes in a
// region that the grid has accessed before. It stops before an instruction that takes more, which Go
// executes. The Go code is its reference, and all there is elsewhere.
//
// Memory is in order by default: every store is visible when it is executed.
// With [Config.Disorder] a grid uses the freedom that the PTX memory model
// gives, so that kernels which rely on more are seen to fail; order_storebuffer.go lists what is
// guaranteed and what goes unnoticed. What of a vector is accessed at once is in mem_whole.go.
//
// An asynchronous copy is performed when a thread waits for its group, or before the block's
// next turn; with disorder, before a later turn. A multiplication by a warpgroup is performed when a
// warp waits for it, with disorder at a random time before (matrix_async.go). Operations of tensor cores of the 5th generation
// are performed before the block's next turn, with disorder before a later one (tcgen05_queue.go). Tensor maps have an
// encoding of this package's own.
//
// The blocks of a cluster are resident together. A shared address carries the
// rank of its block. Access to the shared memory of another block is a fault before that block's
// first turn and after it has exited; kernels need a barrier.cluster to rule out both.
//
// Matrices of floats are multiplied as the tensor cores in [Config.TensorCores] do it, integers
// exactly. With accumulators in fp32, assembly multiplies eight rows by eight columns at a time (matrix_tile.go). An instruction that is .aligned waits for all lanes of its warp, though a GPU may not.
//
// Reductions over the members of a multicast address are made in their order.
// Where an instruction names no accumulator, each step is rounded to the type of
// the elements; a GPU may round otherwise there.
//
// The package knows neither processes, nor threads, nor clocks: memory and
// time come in through [Memory] and [Clock], and [Grid.Turn] returns to its
// caller, which decides what runs next. Nothing is global: any number of grids
// may run concurrently.
package exec

// Address space. A generic address is 64 bits: the region in the upper 24,
// the offset in the lower 40. Region 0 holds the null pointer and is invalid;
// the windows below are the executor's; regions from FirstRegion on belong to the implementation of
// Memory.
const (
	RegionShift = 40
	FirstRegion = 16

	sharedWindow = 1 << RegionShift
	localWindow  = 2 << RegionShift
	paramWindow  = 3 << RegionShift
	codeWindow   = 4 << RegionShift // addresses of functions

	workspaceWindow = 5 << RegionShift // of a cooperative grid
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
