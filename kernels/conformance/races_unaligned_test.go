package conformance

import (
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// Parts that begin and end at any element are each read without a byte of a neighbor's part, which may be written
// meanwhile; nor of the next vector, which is overwritten in place. Elements of 1, 2 and 4 bytes are cut in other ways.
func TestUnalignedPartsHaveNoRace(t *testing.T) {
	t.Parallel()
	checker := newChecker(t, 3)
	types := []collective.DType{collective.Float, collective.Half, collective.F8E4M3}
	for _, c := range kernels.Collectives() {
		_, _, _, inPlace := c.Shape.InPlace(0)
		if c.Shape.Empty {
			continue
		}
		for i, a := range c.Algorithms {
			calls := checkedCalls(a, 333)
			calls.Shape, calls.InPlace, calls.DType = c.Shape, inPlace && !a.Needs.SeparateOutput, types[i%len(types)]
			if !c.Shape.Reduces {
				calls.Op = collective.None
			}
			if _, ok := a.Find(calls.DType, calls.Op, collective.NoEpilogue, 3, 100); a.Needs.Library != "" || !ok {
				continue
			}
			for _, seed := range seeds(8, uint64(i), 8+uint64(i)) {
				if r, err := checker.Run(seed, calls.Task); err != nil || !r.Clean() {
					t.Errorf("%s %s %s, seed %d: error %v, %v, incomplete %q", c.Name, a.Name, calls.DType.Name, seed, err,
						r.Findings, r.Incomplete)
				}
			}
		}
	}
}
