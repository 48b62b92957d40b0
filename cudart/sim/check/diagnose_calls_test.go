package check

import (
	"testing"

	"gpurun/cudart/sim/check/race"
)

// Which of two accesses should have been the first is told by the calls that they belong to, and not by the schedule.
func TestMissingMeetingBetweenCalls(t *testing.T) {
	r := &run{priors: map[int]int{}, launches: 4, grids: []*watchedGrid{
		{rank: 0, kernel: "k", call: 1},
		{rank: 1, kernel: "k", call: 1},
		{rank: 0, kernel: "k", call: 2},
		{rank: 1, kernel: "k", call: 2},
	}}
	kernel := func(launch int, kind race.Kind) race.Side {
		return race.Side{
			Thread: Actor{Rank: r.grids[launch-1].rank, Kernel: "k", Launch: launch},
			Op:     &race.Operation{Kind: kind},
		}
	}
	copies := func(rank, begun int) race.Side {
		op := &race.Operation{Kind: race.Write, Site: commandSite{"copy", begun}}
		return race.Side{Thread: Actor{Rank: rank, Command: "stream 0"}, Op: op}
	}
	const behind, between = noMeeting + " behind the read by rank 0: rank 1's next work overwrites",
		noMeeting + " between the write by rank 1 and the read by rank 0"
	for name, c := range map[string]struct {
		first, second race.Side
		want          string
	}{
		"the next call writes":               {kernel(1, race.Read), kernel(4, race.Write), behind},
		"and its write came first":           {kernel(4, race.Write), kernel(1, race.Read), behind},
		"the call before writes":             {kernel(2, race.Write), kernel(3, race.Read), between},
		"and its write came late":            {kernel(3, race.Read), kernel(2, race.Write), between},
		"a copy for the next call":           {kernel(1, race.Read), copies(1, 2), behind},
		"and the copy came first":            {copies(1, 2), kernel(1, race.Read), behind},
		"a copy for the call that reads":     {copies(1, 0), kernel(1, race.Read), between},
		"and the copy came late":             {kernel(1, race.Read), copies(1, 0), between},
		"a copy of which nothing more known": {kernel(1, race.Read), copies(1, -1), behind},
	} {
		f := race.Finding{First: c.first, Second: c.second}
		if got := r.missingMeeting(&f, access(f.First), access(f.Second)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
