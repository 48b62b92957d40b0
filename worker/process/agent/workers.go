package agent

import (
	"time"

	"gpurun/worker/process/procfs"
)

// workers are those of one Run, by local rank.
type workers []*worker

// running counts the workers that have not exited.
func (all workers) running() (n int) {
	for _, w := range all {
		if w.running() {
			n++
		}
	}
	return n
}

// groups lists the workers' process groups.
func (all workers) groups() []int {
	groups := make([]int, len(all))
	for i, w := range all {
		groups[i] = w.PID
	}
	return groups
}

// groupsAlive reports whether any process is left in the workers' process groups.
func (all workers) groupsAlive() bool { return len(all) > 0 && procfs.GroupsAlive(all.groups()) }

// withRank returns the worker with a rank, or nil.
func (all workers) withRank(rank int) *worker {
	for _, w := range all {
		if w.Rank == rank {
			return w
		}
	}
	return nil
}

// silence is a running worker that has not reported for too long.
type silence struct {
	*worker
	since time.Time // when its last report came
}

// silent lists the running workers that have been silent for limit at least since their last report, and since the
// agent was last stopped.
func (all workers) silent(limit time.Duration, now, resumed time.Time) (silent []silence) {
	for _, w := range all {
		if heard := w.heardSince(resumed); w.running() && now.Sub(heard) >= limit {
			silent = append(silent, silence{w, heard})
		}
	}
	return silent
}

// silentAt returns when the next worker will have been silent for so long, or at if that
// is earlier.
func (all workers) silentAt(limit time.Duration, at, resumed time.Time) time.Time {
	for _, w := range all {
		if w.running() {
			at = earlier(at, w.heardSince(resumed).Add(limit))
		}
	}
	return at
}
