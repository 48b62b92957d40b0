package collective

import (
	"fmt"
	"unsafe"
)

// Limits shared with the kernels: kernels/device/params.cuh.
const (
	MaxRanks         = 72
	MaxBlocks        = 128
	SlotBytes        = 32 << 10
	PacketSlotBytes  = 128 << 10
	MailboxSlotBytes = 128 << 10
	MaxRowVecs       = 2048
	MaxThreads       = 512
	BulkStages       = 6
	BulkStageBytes   = 16 << 10
	BulkSharedBytes  = BulkStages * (BulkStageBytes + 8)
)

// OneShotBytes is the scratch of allreduce oneshot, which no other algorithm writes: see
// kernels/device/scratch_slots.cuh.
const OneShotBytes = 2 * SlotBytes * MaxBlocks

// vecBytes is the widest access of a thread.
const vecBytes = 16

// Params mirrors Params of kernels/device/params.cuh, where the fields are
// explained. A test compares the two layouts.
type Params struct {
	Peers             [MaxRanks]uint64
	Multicast         uint64
	Fault             uint64
	TimeoutNS         uint64
	PartBytes         int64
	SendOffset        int64
	SendStep          int64
	RecvOffset        int64
	ScratchOffset     int64
	PacketOffset      int64
	TileBytes         int64
	RowBytes          int64
	WeightOffset      int64
	ResidualOffset    int64
	ResidualOutOffset int64
	Scale             float32
	Epsilon           float32
	Rank              uint32
	World             uint32
	Root              uint32
	Phase             Phase
	Op                uint32
	_                 uint32
}

// operationNumber is an operation's number among the kernels, 0 for Sum and None.
func operationNumber(op Op) uint32 {
	switch op {
	case Prod:
		return 1
	case Min:
		return 2
	case Max:
		return 3
	case Avg:
		return 4
	}
	return 0
}

// Bytes views p as the bytes that a launch copies. They alias p.
func (p *Params) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

// SignalPad mirrors SignalPad of kernels/device/params.cuh: the head of every
// rank's symmetric memory, zeroed before the first launch.
type SignalPad struct {
	Epoch             [MaxBlocks]uint32
	Claimed           uint32
	_                 [31]uint32
	MulticastBarriers [MaxBlocks]uint32
	MulticastArrivals [MaxBlocks]uint32
	Flags             [MaxBlocks][MaxRanks]uint32
}

// SignalPadBytes is the size of a signal pad, in bytes.
const SignalPadBytes = int64(unsafe.Sizeof(SignalPad{}))

// Phase identifies the step of a kernel in which it waits for its peers.
type Phase uint32

// The phases of kernels/device/params.cuh.
const (
	StartBarrier     Phase = 1
	StageBarrier     Phase = 2
	EndBarrier       Phase = 3
	Packets          Phase = 4
	MulticastBarrier Phase = 5
	Chunk            Phase = 6
	Products         Phase = 7
)

func (p Phase) String() string {
	switch p {
	case StartBarrier:
		return "start barrier"
	case StageBarrier:
		return "stage barrier"
	case EndBarrier:
		return "end barrier"
	case Packets:
		return "arrival of packets"
	case MulticastBarrier:
		return "multicast barrier"
	case Chunk:
		return "arrival of a chunk"
	case Products:
		return "arrival of products"
	}
	return fmt.Sprintf("phase %d", uint32(p))
}

// Fault mirrors Fault of kernels/device/params.cuh: the wait that expired.
type Fault struct {
	State    uint32
	Rank     uint32
	Phase    Phase
	Peer     uint32
	Block    uint32
	Expected uint32
	Seen     uint32
	_        uint32
}

// FaultBytes is the size of a fault record.
const FaultBytes = int64(unsafe.Sizeof(Fault{}))

// TimeoutError reports a wait that timed out in a kernel.
type TimeoutError struct {
	Rank           int
	Peer           int // the rank waited for; MaxRanks: all ranks, by an arrival count
	Phase          Phase
	Block          int
	Expected, Seen uint32 // epochs, or at a multicast barrier arrivals
}

func (e *TimeoutError) Error() string {
	if e.Peer >= MaxRanks {
		return fmt.Sprintf("rank %d gave up waiting for all ranks at the %s (block %d, %d arrivals expected, %d seen)",
			e.Rank, e.Phase, e.Block, e.Expected, e.Seen)
	}
	return fmt.Sprintf("rank %d gave up waiting for rank %d at the %s (block %d, epoch %d expected, %d seen)",
		e.Rank, e.Peer, e.Phase, e.Block, e.Expected, e.Seen)
}
