package cudart

import "context"

// Inspector is a device that tells where the threads of its kernels are. The simulator does; the driver of a GPU
// does not.
type Inspector interface {
	// Inspect describes the kernels that have begun and not ended, while they run. The error is that of ctx when the
	// device does not answer in time.
	Inspect(ctx context.Context) ([]RunningKernel, error)
}

// RunningKernel is a kernel that has begun and not ended.
type RunningKernel struct {
	Name    string
	Number  uint64 // among the launches of its stream
	Blocks  int    // of the grid
	Pending int    // blocks that have not begun
	// Warps are those that have not exited, of the blocks that have begun, ordered by block and warp. A warp whose
	// lanes have diverged is listed once for each place.
	Warps []RunningWarp
}

// RunningWarp is where lanes of a warp are.
type RunningWarp struct {
	Block, Warp int
	Activity    Activity
	At          Instruction
}

// Activity is what lanes of a warp do.
type Activity uint8

// The activities.
const (
	Polls Activity = iota // a loop reads the same values again and again
	Runs                  // anything else
	Waits                 // at a barrier, or for other lanes
)

// Instruction is a place in a kernel.
type Instruction struct {
	Opcode   string // with its modifiers: "ld.acquire.sys.global.u32"
	Module   string
	Line     int    // of the module's PTX
	Function string // the device function, or "" in the kernel itself
	Source   string // the line that the PTX was made of, such as "kernel.cu:12", or ""
}
