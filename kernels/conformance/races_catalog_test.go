package conformance

import (
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// No algorithm of the catalog has a race, and all of each is checked.
func TestCatalogHasNoRace(t *testing.T) {
	t.Parallel()
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			if a.Needs.Library != "" {
				continue
			}
			calls := checkedCalls(a, 700)
			calls.Shape = c.Shape
			switch {
			case c.Shape.Empty:
				calls.Counts = []int64{0}
				fallthrough
			case !c.Shape.Reduces:
				calls.Op = collective.None
			}
			for _, seed := range seeds(8, 0) {
				if r, err := newChecker(t, 3).Run(seed, calls.Task); err != nil || !r.Clean() {
					t.Errorf("%s %s, seed %d: error %v, %v, incomplete %q", c.Name, a.Name, seed, err, r.Findings, r.Incomplete)
				}
			}
		}
	}
}
