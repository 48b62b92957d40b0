package matmul

// chooseGather takes what overlaps where tiles are multiplied one after the other. Where all are resident at once, there
// is nothing to multiply while A arrives, and kernels' stores bring it sooner than copies.
func chooseGather(p Problem, world int, on GPU) string {
	g, _, err := choose(GEMMs(), ofGathered, work{Problem: p, shards: world, gathers: true}, on)
	if err == nil && world > 1 && g.rounds(work{Problem: p, shards: world}, on.SMs) == 1 {
		return "decomposed"
	}
	return "fused"
}

// chooseFused is for what is summed: it sends products in the way that suits the shape.
func chooseFused(Problem, int, GPU) string { return "fused" }
