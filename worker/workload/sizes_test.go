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
