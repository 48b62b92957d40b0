package measure

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOrderIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, pass, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1000).Draw(t, "pass"),
			rapid.IntRange(0, 9).Draw(t, "n")
		got := Order(seed, pass, n)
		if diff := cmp.Diff(got, Order(seed, pass, n)); diff != "" {
			t.Errorf("two ranks differ: %s", diff)
		}
		slices.Sort(got)
		for i, x := range got {
			if i != x {
				t.Errorf("%v is no permutation", got)
			}
		}
	})
}

// In as many passs as it takes, each candidate has each place as often, and comes after each other one as often.
func TestOrderIsBalanced(t *testing.T) {
	for n := 2; n <= 9; n++ {
		cycle := n * (1 + n%2)
		at, after := map[[2]int]int{}, map[[2]int]int{}
		for pass := range cycle {
			candidates := Order(42, pass, n)
			for i, x := range candidates {
				at[[2]int{x, i}]++
				if i > 0 {
					after[[2]int{x, candidates[i-1]}]++
				}
			}
		}
		for x := range n {
			for y := range n {
				if got := at[[2]int{x, y}]; got != cycle/n {
					t.Errorf("of %d, candidate %d comes %d times in place %d, not %d", n, x, got, y, cycle/n)
				}
				if got := after[[2]int{x, y}]; x != y && got != cycle/n {
					t.Errorf("of %d, candidate %d comes %d times after %d, not %d", n, x, got, y, cycle/n)
				}
			}
		}
	}
}
