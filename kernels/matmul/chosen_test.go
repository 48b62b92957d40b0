package matmul

import (
	"testing"

	"gpurun/kernels/collective"
)

// A choice is kept for a problem on a GPU and for an exchange, and is that of the function choose.
func TestChoicesAreKept(t *testing.T) {
	r := &Runner{Comm: &collective.Comm{}, SMs: 132}
	count := 0
	anywhere := []collective.Kernel{{DType: collective.BFloat16}}
	costly := &GEMM{Name: "costly", Kernels: anywhere, Gathered: anywhere, Shape: GEMMs()[0].Shape}
	costly.Cost = func(shardedProblem, int) int64 { count++; return 1 }
	of := func(m int64) shardedProblem {
		return product{rows: m}.sharded(Call{Problem: Problem{M: m, N: 4096, K: 4096, DType: collective.BFloat16}})
	}
	for _, m := range []int64{300, 300, 400, 300} {
		c, err := r.chooseProduct([]*GEMM{costly}, of(m))
		if err != nil || c.gemm != costly || c.shape.Blocks == 0 {
			t.Fatalf("%d rows: %+v, %v", m, c, err)
		}
	}
	if count != 2 {
		t.Errorf("costs were compared %d times for two problems", count)
	}
	if _, err := r.choose([]*GEMM{costly}, "Gathered", ofGathered, of(300)); err != nil || count != 3 {
		t.Errorf("another exchange: %d, %v", count, err)
	}
	r.SMs = 64
	if _, err := r.chooseProduct([]*GEMM{costly}, of(300)); err != nil || count != 4 {
		t.Errorf("another GPU: %d, %v", count, err)
	}
}
