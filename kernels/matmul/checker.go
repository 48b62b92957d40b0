package matmul

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// QuantitiesBytes is the size of what an element of a result is verified by: reference.Quantities, as four fp32
// numbers.
const QuantitiesBytes = 16

func checkKernels() []collective.Kernel { return kernelsFor("naive", "naive_check", collective.SM80) }

// CheckedProduct is a product that is a result or a summand of it: Rows rows of A by B, both stored in rows of K
// elements.
type CheckedProduct struct {
	Rows, N, K int64
	DType      collective.DType
	A, B       cudart.DevicePtr
	// Out receives the quantities: Rows x N of QuantitiesBytes. Adds: they are added to what is there, else they replace
	// it.
	Out  cudart.DevicePtr
	Adds bool
}

// EnqueueCheck puts a kernel on the main stream that computes what the rows of a result are verified by.
func (r *Runner) EnqueueCheck(p CheckedProduct) error {
	k, ok := find(checkKernels(), p.DType, r.SM())
	if !ok {
		return fmt.Errorf("no kernel checks products of %s", p.DType.Name)
	}
	kernel, err := r.Load(k)
	if err != nil {
		return err
	}
	c := checkParams{A: uint64(p.A), B: uint64(p.B), Out: uint64(p.Out), Rows: p.Rows, N: p.N, K: p.K}
	if p.Adds {
		c.Adds = 1
	}
	return r.Main.Launch(kernel, naiveShape(shardedProblem{Problem: Problem{M: p.Rows, N: p.N, K: p.K}}, r.SMs), c.bytes())
}
