package worker

import "gpurun/kernels/matmul"

// An algorithm that multiplies and does not communicate leaves something else than its
// operation does: see matmul.Algorithm.Alone.

// localOnly reports whether the result is this rank's own product, which nobody has
// reduced.
func (c productCase) localOnly() bool { return c.algorithm.Alone && c.operation.Reduces }

// resultRows is how many rows a rank's result has.
func (c productCase) resultRows(world int) int64 {
	if c.localOnly() {
		return c.problem.M
	}
	return c.operation.RowsOfC(c.problem, world)
}

// resultAt is where the result of a call lies.
func (c productCase) resultAt(call matmul.Call) int64 {
	if c.localOnly() {
		return call.Staging
	}
	return call.C
}

// gatheredBefore reports whether the gathered A is an input.
func (c productCase) gatheredBefore() bool { return c.algorithm.Alone && c.operation.Gathers }
