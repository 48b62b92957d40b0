package collectives

import (
	"testing"

	"gpurun/kernels/reference"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// Sums of 8-bit floats through the multicast address are judged as sums in half.
func TestAccumulator(t *testing.T) {
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"multimem_twoshot", "twoshot"}, DTypes: []string{"half", "f8e4m3"},
		Ops: []string{"sum"}, Sizes: []int64{1024},
	}
	for _, c := range casesOf(t, job, 2) {
		want := ""
		if c.Algorithm.Needs.Multicast && c.Call.DType.Size == 1 {
			want = "half"
		}
		if got := (&run{Rank: &rank.Rank{}}).newTrial(c, 1, reference.Random, "").in.Accumulator.Name; got != want {
			t.Errorf("%s: %q, want %q", c, got, want)
		}
	}
}
