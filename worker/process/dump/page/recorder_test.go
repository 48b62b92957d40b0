package page

import (
	"strings"
	"testing"

	"gpurun/worker/process/dump"
)

// sentence is the first one of a page.
func sentence(t *testing.T, ranks []dump.Rank) string {
	t.Helper()
	first, _, _ := strings.Cut(write(t, story{ranks: ranks}), "\n")
	return first
}

// A recorder keeps the last collectives only. A rank that is ahead has entered what it no longer remembers.
func TestRankThatIsAhead(t *testing.T) {
	all := ranks(3, sleeping)
	for i, last := range []int64{6, 40, 5} {
		recorded(&all[i], last, "ALLREDUCE", []int64{4}, train)
	}
	all[2].Collectives[2].State = "completed"
	want := "rank 2 of 3 never entered ALLREDUCE #6 (train.py:214); rank 0 waits for it since 31 s"
	if got := sentence(t, all); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A rank without a recorder is not said to be missing.
func TestRankWithoutRecorder(t *testing.T) {
	all := ranks(3, sleeping)
	recorded(&all[0], 6, "ALLREDUCE", []int64{4}, train)
	recorded(&all[1], 6, "ALLREDUCE", []int64{4}, train)
	const want = "ranks 0,1 of 3 are all in ALLREDUCE #6 (train.py:214), called alike"
	for _, tt := range []struct {
		ranksOfGroup int
		rest         string
	}{
		{0, ": the network or a GPU is left"}, {2, ": the network or a GPU is left"}, {3, "; of rank 2 no recorder answered"},
	} {
		for i := range 2 {
			for k := range all[i].Collectives {
				all[i].Collectives[k].Ranks = []int{0, 1, 2}[:tt.ranksOfGroup]
			}
		}
		if got := sentence(t, all); !strings.HasPrefix(got, want+tt.rest) {
			t.Errorf("%d ranks in the group: %q", tt.ranksOfGroup, got)
		}
	}
	page := write(t, story{ranks: ended(all, 2, "exited with code 9")})
	if !strings.Contains(page, "called alike; rank 2 of the same group\n  has ended") {
		t.Errorf("a rank that has ended is no cause:\n%s", page)
	}
}

// A stack of the interpreter's frames alone is shown as it is, and a rank that runs now and then is like the others.
func TestLikeness(t *testing.T) {
	importing := []dump.Frame{{Function: "_find_and_load", File: "<frozen importlib._bootstrap>", Line: 1027}}
	all := ranks(3, importing)
	mainOf(&all[1]).State = "R"
	groups := newJob(all).likenesses(mostGroups)
	if len(groups) != 1 || len(groups[0].stack) != 1 {
		t.Errorf("%d groups: %+v", len(groups), groups)
	}
	mainOf(&all[1]).State = "D"
	if groups := newJob(all).likenesses(mostGroups); len(groups) != 2 || groups[0].ranks[0].number() != 1 {
		t.Errorf("%d groups: %+v", len(groups), groups)
	}
}

// Of a rank without a stack nobody knows whether it is the one that is missing.
func TestNeverEnteredNeedsAllStacks(t *testing.T) {
	got := sentence(t, doing(oneWithoutStack(), 2, "S", "hrtimer_nanosleep", sleeping))
	if !strings.HasPrefix(got, "rank 2 of 4 is not in all_reduce (train.py:214), where ranks 0,3 wait;") {
		t.Errorf("%q", got)
	}
}
