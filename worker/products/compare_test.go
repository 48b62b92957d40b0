package products

import (
	"math"
	"testing"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// Errors that are too large together make a result wrong, though none is by itself.
func TestErrorsTooLargeTogether(t *testing.T) {
	c := workload.ProductCase{
		Operation: matmul.Operations()[0], Algorithm: matmul.Operations()[0].Algorithms[0],
		Problem: matmul.Problem{M: 8, N: 4, K: 8, DType: collective.Half},
	}
	for _, tt := range []struct {
		norms reference.Norms
		wrong int64 // found before, by themselves
		want  int64
	}{
		{reference.Norms{Error: 1e-8, Sum: 1, Magnitude: 1}, 0, 0},
		{reference.Norms{Error: 1, Sum: 1, Magnitude: 1}, 0, 32},
		{reference.Norms{Error: 1, Sum: 1, Magnitude: 1}, 3, 0},
		{reference.Norms{Error: math.NaN(), Sum: 1, Magnitude: 1}, 0, 32},
	} {
		tested := trial{&candidate{ProductCase: c}, c.Input(1, reference.Random, 1), "after timing"}
		(&run{Rank: &rank.Rank{}}).noteNorms(tested, tt.norms, reference.Verdict{Wrong: tt.wrong}, 64)
		if got := tested.Wrong(); got != tt.want {
			t.Errorf("%+v, %d wrong before: %d wrong, want %d", tt.norms, tt.wrong, got, tt.want)
		}
		if (tested.Norms == nil) != math.IsNaN(tt.norms.Error) {
			t.Errorf("%+v: kept %v", tt.norms, tested.Norms)
		}
	}
}
