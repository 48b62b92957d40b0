package conformance

import (
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// No algorithm of the catalog has a finding, nor a note of what PTX does not promise, and all of each is checked.
func TestCatalogHasNoRace(t *testing.T) {
	t.Parallel()
	checker, err := check.New(check.Config{Ranks: 3, Model: check.ModelPTX})
	if err != nil {
		t.Fatal(err)
	}
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
				if r, err := checker.Run(seed, calls.Task); err != nil || !r.Clean() {
					t.Errorf("%s %s, seed %d: error %v, %v, incomplete %q", c.Name, a.Name, seed, err, r.Findings, r.Incomplete)
				}
			}
		}
	}
}
