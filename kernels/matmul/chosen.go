package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// chosen is the GEMM that a rank takes for a problem.
type chosen struct {
	gemm   *GEMM
	kernel collective.Kernel
	shape  cudart.Launch // see GEMM.Shape
}

// chosenFor is what it was chosen for: a list of GEMMs that begins with one, an exchange, a problem, and a GPU.
type chosenFor struct {
	first            *GEMM
	exchange, dtype  string
	m, n, k, rowsOfA int64
	shards, peers    int
	isLocal, gathers bool
	sms              int
}

// choose is the function choose on this rank's GPU. Choices are kept: to compare the costs of all GEMMs takes longer
// than a launch does. An exchange always comes with the same kernels.
func (r *Runner) choose(gemms []*GEMM, exchange string, kernels func(*GEMM) []collective.Kernel, w shardedProblem,
) (chosen, error) {
	key := chosenFor{
		gemms[0], exchange, w.DType.Name, w.M, w.N, w.K, w.rowsOfA, w.shards, w.peers, w.isLocal, w.gathers, r.SMs,
	}
	if c, ok := r.chosen[key]; ok {
		return c, nil
	}
	g, k, err := choose(gemms, kernels, w, r.gpu())
	if err != nil {
		return chosen{}, err
	}
	c := chosen{gemm: g, kernel: k}
	if !g.BLAS {
		c.shape = g.Shape(w, r.SMs)
	}
	if r.chosen == nil {
		r.chosen = map[chosenFor]chosen{}
	}
	r.chosen[key] = c
	return c, nil
}

// launch is the launch of the chosen kernel, with programmatic dependent launch if both allow it.
func (c chosen) launch(r *Runner) cudart.Launch {
	shape := c.shape
	shape.PDL = shape.PDL && r.PDL(c.kernel)
	return shape
}
