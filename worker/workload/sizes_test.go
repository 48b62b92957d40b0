package workload

import (
	"testing"

	"gpurun/kernels/collective"
)

// A count grows to what all kernel files take. It stays whole vectors where buffers have several parts.
func TestRoundUp(t *testing.T) {
	multipleOf := func(n int64) *collective.Algorithm {
		return &collective.Algorithm{Multiple: func(int, collective.Call) int64 { return n }}
	}
	whole := collective.Shape{Send: collective.OnePart, Recv: collective.OnePart}
	perRank := collective.Shape{Send: collective.OnePart, Recv: collective.PartPerRank}
	for _, tt := range []struct {
		job         Job
		shape       collective.Shape
		count, want int64
		multiples   []int64
	}{
		{Job{}, whole, 256, 256, nil},
		{Job{}, whole, 256, 288, []int64{96}},
		{Job{}, whole, 288, 288, []int64{96}},
		{Job{}, whole, 0, 0, []int64{96}},
		{Job{}, whole, 100, 120, []int64{12, 40}},
		{Job{}, perRank, 256, 264, []int64{6}},
		{Job{Unaligned: true}, perRank, 256, 258, []int64{6}},
		{Job{}, perRank, 2, 2, []int64{2}},
		{Job{Epilogue: string(collective.RMSNorm), Row: 10}, whole, 20, 30, []int64{6}},
		{Job{}, whole, 5, 5, []int64{1 << 50, 1<<50 - 1}}, // more than any buffer has
	} {
		var files []*collective.Algorithm
		for _, n := range tt.multiples {
			files = append(files, multipleOf(n))
		}
		call := collective.Call{Count: tt.count, DType: collective.Float}
		if got := tt.job.roundUp(tt.shape, 2, call, append(files, &collective.Algorithm{})...); got != tt.want {
			t.Errorf("%d, a multiple of %d: %d, want %d", tt.count, tt.multiples, got, tt.want)
		}
	}
}

// Further calls have counts that the kernel file takes, up to that of the sweep.
func TestResizedIsRoundedUp(t *testing.T) {
	c := Case{
		Algorithm: &collective.Algorithm{
			MaxRanks: 2, Kernels: []collective.Kernel{{DType: collective.Float, Op: collective.Sum}},
			Multiple: func(int, collective.Call) int64 { return 96 },
		},
		Call: collective.Call{Count: 288, DType: collective.Float, Op: collective.Sum}, world: 2,
	}
	for bytes, want := range map[int64]int64{4: 96, 400: 192, 1152: 288} {
		if got, ok := (Job{}).Resized(c, bytes); !ok || got.Call.Count != want {
			t.Errorf("%d bytes: count %d, %v; want %d", bytes, got.Call.Count, ok, want)
		}
	}
	if got, ok := (Job{}).Resized(c, 1156); ok {
		t.Errorf("count %d is more than that of the sweep", got.Call.Count)
	}
}
