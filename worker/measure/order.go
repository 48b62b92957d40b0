package measure

import (
	"math/rand/v2"
	"slices"
)

// Order is the order of n candidates in a pass, the same on all ranks. Over n passes, or 2n
// where n is odd, each candidate has each place, and comes right after each other candidate,
// equally often. What comes before matters: after a product that heats the GPU up to its
// limit of power the next one takes 5% longer than after a collective. Williams,
// "Experimental Designs Balanced for the Estimation of Residual Effects of Treatments"
// (1949). The seed shuffles the candidates, and the passes: the last of one pass is not
// always before the same.
func Order(seed uint64, pass, n int) []int {
	if n == 0 {
		return nil
	}
	cycle := pass / n
	passes := rand.New(rand.NewPCG(seed, uint64(1+cycle))).Perm(n)
	candidates, places := rand.New(rand.NewPCG(seed, 0)).Perm(n), make([]int, n)
	for i := range places { // 0, n-1, 1, n-2, ...: no two steps are alike
		step := i / 2
		if i%2 == 1 {
			step = n - 1 - i/2
		}
		places[i] = candidates[(step+passes[pass%n])%n]
	}
	if n%2 == 1 && cycle%2 == 1 {
		slices.Reverse(places)
	}
	return places
}
