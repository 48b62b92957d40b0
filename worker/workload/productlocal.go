package workload

import "gpurun/kernels/matmul"

// An algorithm that multiplies and does not communicate leaves something else than its
// operation does: see matmul.Algorithm.Alone.

// LocalOnly reports whether the result is this rank's own product, which nobody has
// reduced.
func (c ProductCase) LocalOnly() bool { return c.Algorithm.Alone && c.Operation.Reduces }

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

// GatheredIsInput reports whether the gathered A is an input.
func (c ProductCase) GatheredIsInput() bool { return c.Algorithm.Alone && c.Operation.Gathers }
