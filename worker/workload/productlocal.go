package workload

import "gpurun/kernels/matmul"

// LocalOnly reports whether the result is this rank's own product: the algorithm does not
// communicate (matmul.Algorithm.NoCommunication), and the operation would have reduced the product.
func (c ProductCase) LocalOnly() bool { return c.Algorithm.NoCommunication && c.Operation.Reduces }

// ResultRows is how many rows a rank's result has.
func (c ProductCase) ResultRows(world int) int64 {
	if c.LocalOnly() {
		return c.Problem.M
	}
	return c.Operation.RowsOfC(c.Problem, world)
}

// ResultAt is where the result of a call lies.
func (c ProductCase) ResultAt(call matmul.Call) int64 {
	if c.LocalOnly() {
		return call.Staging
	}
	return call.C
}

// GatheredIsInput reports whether the gathered A is an input: the algorithm does not
// communicate, and the operation would have gathered it.
func (c ProductCase) GatheredIsInput() bool {
	return c.Algorithm.NoCommunication && c.Operation.Gathers
}
