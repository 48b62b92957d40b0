package check

import (
	"fmt"

	"gpurun/cudart/sim/check/race"
)

// adviseLanes says which lanes are not ordered, and where a bar.warp.sync orders them.
func adviseLanes(f *race.Finding) string {
	l := f.Lanes
	switch l.Unsynced {
	case race.BeforeRelease:
		return fmt.Sprintf("lane %d of the first warp is not ordered before the release by its lane %d: "+
			"add bar.warp.sync (__syncwarp()) before the release", l.First, l.Second)
	case race.BehindAcquire:
		return fmt.Sprintf("lane %d of the second warp is not ordered behind the acquire by its lane %d: "+
			"add bar.warp.sync (__syncwarp()) behind the acquire", l.Second, l.First)
	}
	return fmt.Sprintf("lanes %d and %d of the warp are not ordered: add bar.warp.sync (__syncwarp()) between the two",
		l.First, l.Second)
}
