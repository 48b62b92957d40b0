package check

import (
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// hashOf is a random number for each actor, the same in all schedules of a seed.
func hashOf(id schedule.Actor, seed uint64) uint64 {
	d := digest(seed)
	d.mix(uint64(id.Rank), uint64(id.Stream), uint64(id.Launch), uint64(id.Block), uint64(id.Warp))
	return uint64(d)
}

// actor is what the scheduler chooses: the host code of a rank, a stream, or a warp.
type actor struct {
	id     schedule.Actor
	number int     // in the order in which actors were made
	host   *host   // of host code
	stream *stream // of a stream
	task   *kernelTask
	warp   exec.Warp // of task

	state  exec.WarpState
	at     int    // index in task.awake
	forced bool   // it polls although nothing has changed
	idle   bool   // it waits for a change of anything
	left   uint64 // run.changes when it went on last
	others bool   // others have made changes since it was idle or polled last
	pace   int    // of the strategy random

	withoutStrong int // steps of its last turns, all without a strong access
	looped        int // instructions of them
}

// addActor makes an actor that the scheduler may choose from now on.
func (r *run) addActor(a *actor) *actor {
	a.number = len(r.ids)
	r.ids = append(r.ids, a.id)
	if a.task == nil {
		r.slow = append(r.slow, a)
	}
	r.byID[a.id] = a
	return a
}

// canGoOn reports whether an actor does not wait for others.
func (r *run) canGoOn(a *actor) bool {
	switch {
	case a.host != nil:
		return a.host.ready()
	case a.stream != nil && !a.stream.hasWork(), a.state > exec.WarpPolls, a.task != nil && a.task.done:
		return false
	case a.forced, a.stream == nil && a.state == exec.WarpRuns:
		return true
	case a.task != nil:
		if changed, known := a.warp.Changed(); known {
			return changed
		}
	}
	return !a.idle || a.left != r.changes
}

// candidates calls f for each actor that may be able to go on, until it returns false: in the order of ranks hosts and
// streams, and then the warps of each launch.
func (r *run) candidates(f func(*actor) bool) {
	for _, a := range r.slow {
		if !f(a) {
			return
		}
	}
	for _, t := range r.tasks {
		for _, a := range t.awake {
			if !f(a) {
				return
			}
		}
	}
}

// best is the actor that can go on and that comes before all others, or nil.
func (r *run) best(before func(a, b *actor) bool) *actor {
	var best *actor
	r.candidates(func(a *actor) bool {
		if (best == nil || before(a, best)) && r.canGoOn(a) {
			best = a
		}
		return true
	})
	return best
}

// lowest is the actor with the lowest number of rank, stream, launch, block and warp that can go on, or nil.
func (r *run) lowest() *actor {
	return r.best(func(a, b *actor) bool { return a.id.Compare(b.id) < 0 })
}

// begins notes before a turn of an actor whether others have made changes since its last one.
func (a *actor) begins(r *run) { a.others = a.others || r.changes != a.left }

// ends notes behind a turn whether it has come to nothing.
func (a *actor) ends(r *run, fruitless bool) {
	a.left, a.forced = r.changes, false
	a.idle = fruitless && !a.others
	if fruitless {
		a.others = false
	}
}
