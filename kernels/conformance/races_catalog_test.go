package conformance

import (
	"bytes"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// No algorithm of the catalog has a finding, nor a note of what PTX does not promise, and all of each is checked.
func TestCatalogHasNoRace(t *testing.T) {
	t.Parallel()
	checker, err := check.New(check.Config{Ranks: 3, Model: check.ModelPTX})
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			number++
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
			pdl, replayed := calls, calls
			pdl.PDL, replayed.PDL, replayed.Replayed, replayed.Launches = true, true, true, 1
			mixed := pdl
			mixed.Launches = 4
			for _, o := range c.Algorithms {
				if o != a && o.Needs.Library == "" {
					mixed.Others = append(mixed.Others, o)
				}
			}
			variants := []checktask.Calls{calls, pdl, replayed}
			if inShard(number) || a == c.Algorithms[0] { // all of the others take part in any case
				variants = append(variants, mixed)
			}
			for i, calls := range variants {
				for _, seed := range seeds(8, uint64(i)) {
					if r, err := checker.Run(seed, calls.Task); err != nil || !r.Clean() {
						t.Errorf("%s %s, PDL %v, replayed %v, with %d others, seed %d: error %v, %v, incomplete %q", c.Name, a.Name,
							calls.PDL, calls.Replayed, len(calls.Others), seed, err, r.Findings, r.Incomplete)
					}
				}
			}
		}
	}
}

// Without griddepcontrol.wait, kernels that are launched early race with the ones before them.
func TestRemovedWaitsForThePriorGridAreFound(t *testing.T) {
	t.Parallel()
	calls := checkedCalls(allreduce.OneShot(), 1500)
	calls.PDL = true
	calls.Source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.ReplaceAll(text, []byte("griddepcontrol.wait;"), nil), err
	}
	found := map[string]int{}
	checker := newChecker(t, 2)
	for seed := range uint64(3) {
		r, _ := checker.Run(seed, calls.Task)
		for _, f := range r.Findings {
			found[string(f.Kind)+" "+f.Cause]++
		}
	}
	if found["race "+check.PriorNotWaited] == 0 {
		t.Errorf("found %v", found)
	}
}
