package foreign

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// Every collective that lists an algorithm of a library has a call of it, and numbers for
// the types and operations that the algorithm has.
func TestCallsOfAllAlgorithms(t *testing.T) {
	check(t, libraries.NCCLName, ncclCollectives)
	check(t, libraries.NCCLSymmetricName, ncclSymmetricCollectives())
	check(t, libraries.NVSHMEMName, nvshmemCollectives)
}

func check[L, D, O any](t *testing.T, library string, c *collectives[L, D, O]) {
	t.Helper()
	var listed []string
	for _, what := range kernels.Collectives() {
		a, ok := what.Algorithm(library)
		if !ok {
			continue
		}
		listed = append(listed, what.Name)
		for _, d := range a.DTypes() {
			if _, ok := c.types[d.Name]; !ok {
				t.Errorf("%s has no number for %s", library, d.Name)
			}
		}
		for _, op := range a.Ops() {
			if _, ok := c.ops[op]; !ok && op != collective.None {
				t.Errorf("%s has no number for %s", library, op)
			}
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, slices.Sorted(maps.Keys(c.calls))); diff != "" {
		t.Errorf("%s: collectives that list it, and those that it has a call for: %s", library, diff)
	}
}
