package check

import (
	"fmt"

	"gpurun/cudart/sim/check/race"
)

const tooLittle = "one of the two waits for too little, as for a value that is too small or without bar.sync behind " +
	"the wait"

// earlyFlags says of two accesses which flags they come behind: both are too early to order the two.
func earlyFlags(f *Finding, waits [2]*race.Edge) string {
	first, second := f.Sides[0], f.Sides[1]
	return fmt.Sprintf("%s: %s, and %s", tooLittle, awaits(second, first, waits[1]), awaits(first, second, waits[0]))
}

// awaits says which flag of the other one's block an access comes behind.
func awaits(by, other Access, flag *race.Edge) string {
	who := fmt.Sprintf("rank %d's %s", by.Rank, nounOf(by))
	if flag == nil {
		return fmt.Sprintf("%s waits for no flag of rank %d", who, other.Rank)
	}
	return fmt.Sprintf("%s waits at %s for the flag that rank %d writes at %s, before its %s", who,
		lineOf(access(flag.Acquire)), other.Rank, lineOf(access(flag.Release)), nounOf(other))
}
