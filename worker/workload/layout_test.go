package workload

import (
	"slices"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// span is a stretch of memory.
type span struct {
	what       string
	begin, end int64
}

// buffers are the buffers of a layout that a case accesses.
func buffers(l Layout, c Case, rank int) []span {
	call := l.Place(c, rank)
	all := []span{
		{"pad", 0, collective.SignalPadBytes},
		{"packets", l.Packets, l.Packets + l.PacketBytes},
	}
	if f := c.Algorithm.ScratchBytes; f != nil {
		all = append(all, span{"scratch", l.Scratch, l.Scratch + f(c.world, call.Bytes())})
	}
	switch {
	case c.InPlace:
		begin := min(call.Send, call.Recv)
		all = append(all, span{"both", begin, begin + max(c.sendBytes(), c.RecvBytes())})
	default:
		all = append(all, span{"send", call.Send, call.Send + c.sendBytes()},
			span{"recv", call.Recv, call.Recv + c.RecvBytes()})
	}
	if e := call.Epilogue; e.Kind == collective.RMSNorm {
		all = append(all,
			span{"weight", e.Weight, e.Weight + e.Row*int64(call.DType.Size)},
			span{"residual", e.Residual, e.Residual + call.Bytes()},
			span{"residual out", e.ResidualOut, e.ResidualOut + call.Bytes()})
	}
	return append(all, span{"end", l.Total, l.Total})
}

// The buffers of a case are within the memory and do not overlap.
func TestLayoutHoldsEveryCase(t *testing.T) {
	var jobs []Job
	for _, c := range kernels.Collectives() {
		job := jobOf(c.Name)
		for _, a := range c.Algorithms {
			if a.Needs.Library == "" {
				job.Algorithms = append(job.Algorithms, a.Name)
			}
		}
		jobs = append(jobs, job)
	}
	norm := small()
	norm.Algorithms, norm.Epilogue, norm.Row = []string{"auto"}, "rmsnorm", 512
	for _, job := range append(jobs, norm) {
		job.Unaligned = job.Epilogue == ""
		cases := casesOf(t, job, simulated(3))
		l := layOut(cases, 4)
		for _, c := range cases {
			all := buffers(l, c, 2)
			if !slices.IsSortedFunc(all, func(next, before span) int { return int(next.begin - before.end) }) {
				t.Errorf("%s: %+v overlap", c, all)
			}
		}
		for _, at := range []int64{
			l.Packets, l.Scratch, l.Shared, l.send, l.Recv, l.weight, l.residual, l.residualOut, l.Total,
		} {
			if at%256 != 0 {
				t.Errorf("layout %+v is not aligned", l)
			}
		}
	}
}

// Buffers apart begin at the address that they were allocated at, with a guard.
func TestMoveBuffers(t *testing.T) {
	l := layOut(casesOf(t, small(), simulated(3)), 4)
	base, own := uint64(1)<<50, uint64(1)<<40 // the distance is negative
	moved := l.MoveBuffers(int64(own - base))
	if base+uint64(moved.send) != own+GuardBytes || moved.Recv-moved.send != l.Recv-l.send || moved.Scratch != l.Scratch {
		t.Errorf("%+v became %+v", l, moved)
	}
}

// In place, a rank's input is at its place in the output.
func TestInPlace(t *testing.T) {
	for name, want := range map[string][3]int64{ // send, recv, step in parts
		"allreduce": {0, 0, 0}, "reduce": {0, 0, 0}, "broadcast": {0, 0, 0},
		"allgather": {2, 0, 1}, "reducescatter": {0, 2, 0}, "gather": {2, 0, 1}, "scatter": {0, 2, 0},
	} {
		for _, c := range casesOf(t, jobOf(name), simulated(3)) {
			if !c.InPlace || c.Call.Count == 0 {
				continue
			}
			call := Layout{Recv: 1000}.Place(c, 2)
			part := call.Bytes()
			if got := [3]int64{(call.Send - 1000) / part, (call.Recv - 1000) / part, call.SendStep / part}; got != want {
				t.Errorf("%s: %v, want %v", c, got, want)
			}
		}
	}
	for _, c := range casesOf(t, jobOf("alltoall"), simulated(3)) {
		if c.InPlace || !c.OutOfPlaceOnly {
			t.Errorf("%s: in place %t, out of place only %t", c, c.InPlace, c.OutOfPlaceOnly)
		}
	}
}
