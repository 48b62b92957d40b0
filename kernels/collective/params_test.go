package collective

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx/ptxtest"
)

// The structs here and in kernels/device/params.cuh have the same layout:
// device/layout.cu puts the numbers that the compiler sees into its PTX.
func TestLayoutsMatchTheKernels(t *testing.T) {
	var (
		p Params
		s SignalPad
		f Fault
	)
	for name, want := range map[string][]uintptr{
		"limits": {
			MaxRanks, MaxBlocks, SlotBytes, PacketSlotBytes, MailboxSlotBytes, MaxRowVecs, MaxThreads, BulkStages,
			BulkStageBytes, BulkSharedBytes,
		},
		"operations": operationNumbers(),
		"phases": {
			uintptr(StartBarrier), uintptr(StageBarrier), uintptr(EndBarrier), uintptr(Packets), uintptr(MulticastBarrier),
		},
		"params_layout": {
			unsafe.Sizeof(p), unsafe.Offsetof(p.Peers), unsafe.Offsetof(p.Multicast), unsafe.Offsetof(p.Fault),
			unsafe.Offsetof(p.TimeoutNS), unsafe.Offsetof(p.PartBytes), unsafe.Offsetof(p.SendOffset),
			unsafe.Offsetof(p.SendStep),
			unsafe.Offsetof(p.RecvOffset), unsafe.Offsetof(p.ScratchOffset), unsafe.Offsetof(p.PacketOffset),
			unsafe.Offsetof(p.TileBytes),
			unsafe.Offsetof(p.RowBytes), unsafe.Offsetof(p.WeightOffset), unsafe.Offsetof(p.ResidualOffset),
			unsafe.Offsetof(p.ResidualOutOffset),
			unsafe.Offsetof(p.Scale), unsafe.Offsetof(p.Epsilon), unsafe.Offsetof(p.Rank), unsafe.Offsetof(p.World),
			unsafe.Offsetof(p.Root), unsafe.Offsetof(p.Phase), unsafe.Offsetof(p.Op), unsafe.Sizeof(p) - 4,
		},
		"signal_pad_layout": {
			unsafe.Sizeof(s), unsafe.Offsetof(s.Epoch), unsafe.Offsetof(s.Claimed),
			unsafe.Offsetof(s.Claimed) + 4, unsafe.Offsetof(s.MulticastBarriers), unsafe.Offsetof(s.MulticastArrivals),
			unsafe.Offsetof(s.Flags),
		},
		"fault_layout": {
			unsafe.Sizeof(f), unsafe.Offsetof(f.State), unsafe.Offsetof(f.Rank), unsafe.Offsetof(f.Phase),
			unsafe.Offsetof(f.Peer), unsafe.Offsetof(f.Block), unsafe.Offsetof(f.Expected), unsafe.Offsetof(f.Seen),
			unsafe.Sizeof(f) - 4,
		},
	} {
		if diff := cmp.Diff(want, ptxtest.Numbers(t, "layout", name)); diff != "" {
			t.Errorf("%s (-Go +kernel)\n%s", name, diff)
		}
	}
}

// operationNumbers are what Params.Op holds, in the order of the kernels' list.
func operationNumbers() []uintptr {
	var numbers []uintptr
	for _, op := range []Op{Sum, Prod, Min, Max, Avg} {
		numbers = append(numbers, uintptr(operationNumber(op)))
	}
	return numbers
}

// Every phase of the kernels has a name of its own.
func TestPhasesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []Phase{StartBarrier, StageBarrier, EndBarrier, Packets, MulticastBarrier, 17} {
		seen[p.String()] = true
	}
	if len(seen) != 6 || !seen["phase 17"] {
		t.Errorf("names: %v", seen)
	}
}
