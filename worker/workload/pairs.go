package workload

import (
	"gpurun/kernels/collective"
)

// checkPairs returns an error for a check of pairs that cannot run, and for injected failures that
// would never happen.
func (j Job) checkPairs(world int) error {
	const unit = 16
	switch {
	case world > collective.MaxRanks:
		return usagef("%d ranks are too many: pairs are checked of up to %d", world, collective.MaxRanks)
	case len(j.Sizes) != 1 || j.Sizes[0] < unit || j.Sizes[0]%unit != 0 || j.Sizes[0] > maxBytes:
		return usagef("pairs are checked with one size, a multiple of %d bytes, and not with %d", unit, j.Sizes)
	case j.Iterations < 1:
		return usagef("pairs are checked with %d copies: there must be one at least", j.Iterations)
	}
	for _, in := range j.Inject {
		switch {
		case in.Rank >= world:
			return usagef("cannot inject a failure into rank %d: the ranks are 0 to %d", in.Rank, world-1)
		case world == 1:
			return usagef("cannot inject a failure into the check of pairs: one rank alone has no peer")
		case in.Kind == Corrupt && in.Byte >= j.Sizes[0]:
			return usagef("cannot corrupt byte %d of rank %d: a peer writes %d bytes there", in.Byte, in.Rank, j.Sizes[0])
		}
	}
	return nil
}
