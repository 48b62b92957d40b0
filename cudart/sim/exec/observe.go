package exec

import "gpurun/cudart"

// Observer is told what the warps of a grid do to memory that others can reach, and how they synchronize.
// Kernels of a program from [LoadObserved] tell it; those of other programs have no code for that. The calls come
// from [Grid.Turn], in the order in which the operations are performed. What an observer is given is valid during
// the call alone.
type Observer interface {
	// Access is called behind an access to global or shared memory.
	Access(at Place, a *ObservedAccess)
	// Fence is called at a fence or membar: the order is "sc", "acq_rel", "acquire" or "release".
	Fence(at Place, order, scope string)
	// Arrive is called when lanes of a warp arrive at one of the 16 barriers of their block.
	Arrive(at Place, barrier int)
	// Release is called when a barrier is complete, with the warps of the block that have waited for it.
	Release(block, barrier int, warps []int)
	LaunchObserver
	WarpObserver
	// Unmodeled is called at an instruction that may access or order memory in a way that the other methods do not
	// describe.
	Unmodeled(at Place)
	AsyncObserver
}

// Place is where a warp is.
type Place struct {
	Block, Warp int
	Lanes       uint32 // of a fence or a test of an mbarrier, those that execute it
	// Cluster is that of the block, and ClusterRank the block's number in it. Without clusters a block is one.
	Cluster, ClusterRank int
	Site                 Site

	warp *warp
}

// Site is an instruction of a kernel. Sites of one program are equal where they are the same instruction.
type Site struct {
	kernel *Kernel
	pc     int32
}

// Instruction describes where the instruction is.
func (s Site) Instruction() cudart.Instruction { return s.kernel.instruction(s.pc) }

// Number is the same for a site in all runs of a kernel, and differs from those of its other sites.
func (s Site) Number() int { return int(s.pc) }

// Text is the instruction as the PTX has it.
func (s Site) Text() string { return s.kernel.code[s.pc].inst.Source() }

// Kernel is the name of the entry point.
func (s Site) Kernel() string { return s.kernel.Name }

// AccessKind is whether an access reads, writes, or does both at once.
type AccessKind uint8

// The kinds of accesses.
const (
	Reads AccessKind = iota
	Writes
	Updates // an atomic operation
)

// ObservedAccess is an access of the lanes of a warp.
type ObservedAccess struct {
	Kind         AccessKind
	Order, Scope string // as the instruction has them; "" where it has none
	Bytes        uint64 // of an element
	Elements     int    // one behind the other, for each lane
	ReadOnly     bool   // a load by .nc
	Multicast    bool   // by a multicast address; Addresses are those of one member
	Reduction    bool   // red
	Failed       bool   // a compare-and-swap of which no lane has changed anything
	Lanes        uint32
	Addresses    lanes // generic, of the lanes that access memory
	// Unchanged are the lanes of a weak store that stored what was there already.
	Unchanged uint32
}

// Spaces of an observed address.

// IsShared reports whether a generic address is in the shared memory of a block of the cluster.
func IsShared(addr uint64) bool { return addr>>RegionShift == sharedWindow>>RegionShift }

// SharedPlace is the rank in the cluster of the block that has a shared address, and the offset there.
func SharedPlace(addr uint64) (rank int, offset uint64) {
	return rankOf(addr), addr & (1<<rankShift - 1)
}

// IsWorkspace reports whether a generic address is in the workspace of a cooperative grid.
func IsWorkspace(addr uint64) bool { return addr>>RegionShift == workspaceWindow>>RegionShift }

// site is where the running path of a warp is.
func (w *warp) site() Place {
	return Place{
		Block: w.block.index, Warp: w.index, Cluster: w.block.cluster.number, ClusterRank: w.block.rank,
		Site: Site{w.grid.kernel, w.current.pc}, warp: w,
	}
}

// tellRelease tells the observer which warps a barrier lets go on.
func (b *block) tellRelease(id int) {
	var waiting []int
	for _, w := range b.warps {
		for i := range w.paths[:w.others] {
			if s := &w.paths[i]; s.state == atBarrier && int(s.barrier) == id {
				waiting = append(waiting, w.index)
				break
			}
		}
	}
	b.grid.cfg.Observer.Release(b.index, id, waiting)
}
