package check

import (
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// kernelTask is a kernel that runs. Its warps are actors of their own.
type kernelTask struct {
	run      *run
	id       schedule.Actor // with neither block nor warp
	grid     *exec.Grid
	observer *observer
	awake    []*actor         // warps that do not wait at a barrier
	waiting  map[int][]*actor // those that do, by block
	done     bool
	err      error
}

// longTurn are the instructions that count as a step, so that a loop without an access soon ends with the budget.
const longTurn = 1 << 12

// finish ends a kernel whose warps have ended.
func (t *kernelTask) finish() error {
	t.observer.end()
	t.run.barrierFault(t.observer.watched, t.err)
	t.observer.watched.grid = nil
	t.run.instructions += t.grid.Stats().WarpInstructions
	if t.err == nil {
		return nil
	}
	t.observer.noteFault(t.err)
	return failure("running "+t.observer.kernel, cudart.ErrLaunchFailed, "%v", t.err)
}

// admit makes the warps that have become resident actors.
func (t *kernelTask) admit() {
	for _, w := range t.grid.TakeWarps() {
		id := t.id
		id.Block, id.Warp = w.Block(), w.Index()
		t.wake(t.run.addActor(&actor{id: id, task: t, warp: w}))
	}
}

func (t *kernelTask) wake(a *actor) {
	a.state, a.at = exec.WarpRuns, len(t.awake)
	t.awake = append(t.awake, a)
}

// turn is a turn of a warp, and returns how to record it.
func (t *kernelTask) turn(a *actor, next choice) (most int) {
	most = next.most
	t.run.count(0) // its turn reads the clock
	state, instructions, strong, err := a.warp.Turn(most, next.accesses)
	t.run.steps += instructions / longTurn
	t.run.strong += strong
	a.loops(instructions, strong, state)
	t.run.looping = t.run.looping || a.looped > t.run.checker.cfg.Loop
	if next.accesses >= 0 && state == exec.WarpRuns {
		most = instructions
	}
	if state >= exec.WarpWaits {
		last := len(t.awake) - 1
		t.awake[a.at] = t.awake[last]
		t.awake[a.at].at = a.at
		t.awake = t.awake[:last]
	}
	a.state = state
	switch state {
	case exec.WarpWaits:
		t.waiting[a.id.Block] = append(t.waiting[a.id.Block], a)
	case exec.WarpExited:
		t.run.changed()
		delete(t.run.byID, a.id)
		t.admit()
	}
	t.wakeBlocks()
	a.ends(t.run, state == exec.WarpPolls)
	if err == nil && len(t.awake) == 0 {
		err = t.grid.Deadlock()
	}
	if err != nil || t.grid.Ended() {
		t.end(err)
	}
	return most
}

// wakeBlocks lets the warps go on whose barriers are complete.
func (t *kernelTask) wakeBlocks() {
	for _, block := range t.grid.TakeWoken() {
		t.waiting[block] = slices.DeleteFunc(t.waiting[block], func(a *actor) bool {
			if !a.warp.CanGoOn() {
				return false
			}
			t.wake(a)
			return true
		})
	}
}

// end is the end of the kernel, which the stream has to notice.
func (t *kernelTask) end(err error) {
	if !t.done {
		t.run.blocks.add(t.grid)
	}
	t.done, t.err, t.awake, t.waiting = true, err, nil, nil
	t.run.tasks = slices.DeleteFunc(t.run.tasks, func(other *kernelTask) bool { return other == t })
	t.run.changed()
}
