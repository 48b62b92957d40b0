package page

import (
	"cmp"
	"slices"

	"gpurun/worker/process/dump"
)

// rank is a rank with what the page shows of it.
type rank struct {
	dump.Rank
	process *dump.Process // whose thread is shown; nil: none was collected
	thread  dump.Thread   // the one that says most
	activity
}

// mostRanks bounds what a damaged report of another node can cost.
const mostRanks = 1 << 20

// job is all that the page says something about.
type job struct {
	ranks []rank // by number
	size  int    // of the world; at least the number of ranks
}

func newJob(collected []dump.Rank) job {
	var j job
	for _, r := range collected {
		j.ranks = append(j.ranks, newRank(r))
		j.size = max(j.size, min(max(r.WorldSize, r.Rank+1), mostRanks))
	}
	slices.SortStableFunc(j.ranks, func(a, b rank) int { return cmp.Compare(a.Rank.Rank, b.Rank.Rank) })
	j.size = max(j.size, len(j.ranks))
	return j
}

func newRank(r dump.Rank) rank {
	n := rank{Rank: r}
	for i := range r.Processes {
		p := &r.Processes[i]
		if n.process == nil || score(p) > score(n.process) {
			n.process = p
		}
	}
	if n.process == nil || len(n.process.Threads) == 0 {
		return n
	}
	n.thread = n.process.Threads[0]
	n.activity = activityOf(n.thread)
	if n.kind == collective {
		return n
	}
	for _, t := range n.process.Threads[1:] { // training in a thread: the main one joins it, or was not listed
		if a, ok := inCollective(t.Python); ok && (n.kind == lock || len(n.thread.Python) == 0) {
			n.thread.Python, n.activity = t.Python, a
			break
		}
	}
	return n
}

// score says which process of a rank counts: the first with a Python stack, else the first that is not a shell which
// waits for its child, else the first.
func score(p *dump.Process) int {
	switch {
	case slices.ContainsFunc(p.Threads, func(t dump.Thread) bool { return len(t.Python) > 0 }):
		return 2
	case len(p.Threads) > 0 && p.Threads[0].Wait != "do_wait":
		return 1
	default:
		return 0
	}
}

func (r rank) number() int { return r.Rank.Rank }

// alive reports whether the rank still ran when it was collected.
func (r rank) alive() bool { return r.Exit == "" }

// state is the letter of the thread that the page shows, and for a stopped process T or t.
func (r rank) state() string { return r.thread.State }

// numbers are those of the ranks for which a condition holds.
func (j job) numbers(holds func(rank) bool) (all []int) {
	for _, r := range j.ranks {
		if holds(r) {
			all = append(all, r.number())
		}
	}
	return all
}

// only are the ranks with some numbers.
func (j job) only(numbers []int) []rank {
	return slices.DeleteFunc(slices.Clone(j.ranks), func(r rank) bool { return !slices.Contains(numbers, r.number()) })
}

// by sorts ranks into classes, which come in the order of their first ranks.
func by[K comparable](ranks []rank, class func(rank) K) (keys []K, members map[K][]int) {
	members = map[K][]int{}
	for _, r := range ranks {
		k := class(r)
		if members[k] == nil {
			keys = append(keys, k)
		}
		members[k] = append(members[k], r.number())
	}
	return keys, members
}
