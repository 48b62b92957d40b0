package matmul

// chooseGather takes what overlaps where tiles are multiplied one after the other. Where all are resident at once, there
// is nothing to multiply while A arrives, and kernels' stores bring it sooner than copies.
func chooseGather(p Problem, world int, on GPU) string {
	w := work{Problem: p, shards: world, gathers: true}
	g, _, err := choose(GEMMs(), ofGathered, w, on)
	if err == nil && world > 1 && g.rounds(w, on.SMs) == 1 {
		return "decomposed"
	}
	return "fused"
}

// chooseFused is for what is summed: it sends products in the way that suits the shape.
func chooseFused(Problem, int, GPU) string { return "fused" }
