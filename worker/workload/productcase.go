package workload

import (
	"fmt"
	"time"

	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// ProductCase is one measurement to make.
type ProductCase struct {
	Operation *matmul.Operation
	Algorithm *matmul.Algorithm // nil in a request
	Problem   matmul.Problem
	Splits    int
	Requested string // the job's word for the algorithm: its name, or "auto"
	Why       string // the reason for the choice of the algorithm
	hostFlops int64  // as in Products
}

// String reads "allgather-matmul decomposed, 4096 x 6656 x 16384 bfloat16".
func (c ProductCase) String() string {
	return fmt.Sprintf("%s %s, %s", c.Operation.Name, c.Algorithm.Name, c.Problem)
}

// Input describes the inputs of a case to the reference.
func (c ProductCase) Input(seed uint64, pattern reference.Pattern, world int) reference.Product {
	return reference.Product{
		Seed: seed, Pattern: pattern, DType: c.Problem.DType, M: c.Problem.M, N: c.Problem.N, K: c.Problem.K,
		World: world, Gathered: c.Operation.Gathers, Local: c.LocalOnly(),
		Stepwise: c.Algorithm.Library != "" || c.Algorithm.Stepwise,
	}
}

// The reference makes at least so many operations in a second on a slow machine, and the host
// fills or compares at least so many elements.
const (
	verifyingFlops    = 1 << 26
	verifyingElements = 1 << 20
)

// Verifying bounds how much longer a rank may take than another to verify a case.
func (c ProductCase) Verifying(world int) time.Duration {
	b := c.Operation.Buffers(c.Problem, world)
	elements := int64(world) * (b.A + b.AFull + b.B + b.C) / int64(c.Problem.DType.Size)
	flops := min(c.resultFlops(world), c.hostFlops) * int64(world)
	return time.Duration(elements/verifyingElements+flops/verifyingFlops) * time.Second
}
