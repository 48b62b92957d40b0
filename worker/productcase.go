package worker

import (
	"fmt"
	"time"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// productCase is one measurement to make.
type productCase struct {
	operation *matmul.Operation
	algorithm *matmul.Algorithm // nil in a request
	problem   matmul.Problem
	splits    int
	asked     string // the job asks for: a name, or "auto"
	why       string // the algorithm was chosen
	hostFlops int64  // as in Products
}

// String reads "allgather-matmul decomposed, 4096 x 6656 x 16384 bfloat16".
func (c productCase) String() string {
	return fmt.Sprintf("%s %s, %s", c.operation.Name, c.algorithm.Name, c.problem)
}

// input is what the reference knows of a case.
func (c productCase) input(seed uint64, pattern reference.Pattern, world int) reference.Product {
	return reference.Product{
		Seed: seed, Pattern: pattern, DType: c.problem.DType, M: c.problem.M, N: c.problem.N, K: c.problem.K,
		World: world, Gathered: c.operation.Gathers, Local: c.localOnly(), Stepwise: c.algorithm.Library != "",
	}
}

// What the reference, and what works on the inputs, gets through in a second on a slow
// machine, and less.
const (
	verifyingFlops    = 1 << 26
	verifyingElements = 1 << 20
)

// verifying bounds how much longer a rank may take than another to verify a case.
func (c productCase) verifying(world int) time.Duration {
	b := c.operation.Buffers(c.problem, world)
	elements := int64(world) * (b.A + b.AFull + b.B + b.C) / int64(c.problem.DType.Size)
	flops := min(c.resultFlops(world), c.hostFlops) * int64(world)
	return time.Duration(elements/verifyingElements+flops/verifyingFlops) * time.Second
}

// awaited is the case as one whose work on the stream is waited for: within the timeout,
// if a library of others does it.
func (c productCase) awaited() testCase {
	return testCase{algorithm: &collective.Algorithm{Needs: collective.Needs{Library: c.algorithm.Library}}}
}
