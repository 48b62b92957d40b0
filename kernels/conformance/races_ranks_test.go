package conformance

import (
	"fmt"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
)

// No algorithm has a finding among one rank or eight: with an odd and an even count, in place, with early launches and
// by graphs. Among eight ranks an algorithm is called in one way, which stands for the others; and where not all is
// wanted, an algorithm stands for five others.
func TestOneAndEightRanksHaveNoRace(t *testing.T) {
	t.Parallel()
	for _, ranks := range []int{1, 8} {
		checker := newChecker(t, ranks)
		number := 0
		for _, c := range kernels.Collectives() {
			for _, a := range c.Algorithms {
				all := variantsAmong(c.Shape, a, ranks)
				number++
				switch {
				case len(all) == 0 || ranks == 1 && exhaustive():
				case ranks > 1 && number%6 != 0 && !inShard(number):
					continue
				default:
					all = all[number%len(all):][:1]
				}
				for i, calls := range all {
					for _, seed := range seeds(2, uint64(number+i)) {
						if r, err := checker.Run(seed, calls.Task); err != nil || !r.Clean() {
							t.Errorf("%s, %d ranks, seed %d: error %v, %v, incomplete %q", nameOf(calls), ranks, seed, err, r.Findings,
								r.Incomplete)
						}
					}
				}
			}
		}
	}
}

// variantsAmong are the ways to call an algorithm, of gpurun's own; none where it cannot run among so many ranks.
func variantsAmong(shape collective.Shape, a *collective.Algorithm, ranks int) (all []checktask.Calls) {
	calls := checkedCalls(a, 0)
	calls.Shape, calls.Launches, calls.Counts = shape, 2, []int64{127, 128}
	switch {
	case shape.Empty:
		calls.Counts = []int64{0}
		fallthrough
	case !shape.Reduces:
		calls.Op = collective.None
	}
	for i, count := range calls.Counts {
		if !shape.Empty {
			calls.Counts[i] = count * int64(ranks)
		}
	}
	if a.Needs.Library != "" || a.Check(calls.Call(0), ranks) != nil {
		return nil
	}
	pdl, replayed, inPlace := calls, calls, calls
	pdl.PDL, replayed.Replayed, replayed.Launches, inPlace.InPlace = true, true, 1, true
	all = []checktask.Calls{calls, pdl, replayed}
	if _, _, _, ok := shape.InPlace(0); ok && !a.Needs.SeparateOutput {
		all = append(all, inPlace)
	}
	return all
}

func nameOf(c checktask.Calls) string {
	return fmt.Sprintf("%s %s, in place %v, PDL %v, replayed %v", c.Algorithm.Collective, c.Algorithm.Name, c.InPlace,
		c.PDL, c.Replayed)
}
