package matmul

// chooseGather takes the fused algorithm where there are several waves of tiles. In one wave, there is nothing to
// multiply while A arrives, and stores of kernels bring A sooner than copies.
func chooseGather(p Problem, world int, on GPU) string {
	w := shardedProblem{Problem: p, shards: world, gathers: true}
	g, _, err := choose(GEMMs(), ofGathered, w, on)
	if err == nil && world > 1 && g.waves(w, on.SMs) == 1 {
		return "decomposed"
	}
	return "fused"
}

// chooseFused is for operations that reduce: the fused algorithm itself decides how to send products.
func chooseFused(Problem, int, GPU) string { return "fused" }
