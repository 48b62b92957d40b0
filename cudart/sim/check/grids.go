package check

import (
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// chain is kernels of a stream that programmatic dependent launch lets overlap: one, and those behind it that are
// launched so. Whether a schedule lets them overlap makes no difference to their order: without griddepcontrol.wait
// nothing orders a kernel behind the one before it in its chain, though that may have ended.
type chain struct {
	before *race.Moment // of the commands before the chain
	last   *runningKernel
}

// runningKernel is a kernel that executes, or has ended.
type runningKernel struct {
	grid     *exec.Grid
	observer *observer
	done     bool
}

// kernelTask is the kernels of a chain that run.
type kernelTask struct {
	stream *stream
	active []*runningKernel // in the order of the stream
}

// quantum is the most instructions of a warp's turn. Turns are random, and shorter.
const quantum = 4096

// beginKernel begins a kernel at the head of the stream.
func (s *stream) beginKernel(c command) (task, error) {
	d := s.device.run.detector
	if !c.launch.shape.PDL || s.chain == nil {
		if c.after != nil {
			d.After(s.thread, c.after)
		}
		s.chain = &chain{before: d.Now(s.thread)}
	}
	t := &kernelTask{stream: s}
	return t, t.start(c)
}

// start launches a kernel in the chain of the stream.
func (t *kernelTask) start(c command) error {
	chain, run := t.stream.chain, t.stream.device.run
	before, prior := chain.before, chain.last
	if prior != nil && c.after != nil {
		run.detector.After(t.stream.thread, c.after)
		before = before.With(c.after)
	}
	run.launches++
	o := newObserver(t.stream, c.launch, run.launches, before)
	cfg := c.launch.config()
	cfg.Turns, cfg.Observer = run.turns(run.launches), o
	if prior != nil {
		o.prior = prior.observer
		run.priors[o.launch] = prior.observer.launch
		cfg.PriorDone = func() bool { return prior.done }
	}
	grid, err := exec.Launch(c.launch.kernel.code, cfg)
	if err != nil {
		return err
	}
	chain.last = &runningKernel{grid: grid, observer: o}
	t.active = append(t.active, chain.last)
	return nil
}

// dependent reports whether the command at the head of the stream is a kernel that may begin: it is launched early,
// and every block of the kernel before it has launched its dependents or ended.
func (t *kernelTask) dependent() bool {
	s := t.stream
	if len(s.queue) == 0 || !s.chain.last.grid.LaunchesDependents() {
		return false
	}
	l := s.queue[0].launch
	return l != nil && l.shape.PDL
}

// step gives one of the kernels a turn, or begins the next one. The seed chooses among them.
func (t *kernelTask) step() (exec.State, error) {
	choices := len(t.active)
	if t.dependent() {
		choices++
	}
	choice := 0
	if choices > 1 {
		choice = t.stream.device.run.random.IntN(choices)
		t.stream.device.run.trace.mix(uint64(choices), uint64(choice))
	}
	if choice == len(t.active) {
		c := t.stream.queue[0]
		t.stream.queue = t.stream.queue[1:]
		return exec.Running, t.start(c)
	}
	return t.turn(choice)
}

func (t *kernelTask) turn(choice int) (exec.State, error) {
	k := t.active[choice]
	state, err := k.grid.Turn(quantum)
	if state == exec.Done {
		k.done = true
		k.observer.end()
		k.observer.run.instructions += k.grid.Stats().WarpInstructions
		if t.active = slices.Delete(t.active, choice, choice+1); len(t.active) > 0 {
			state = exec.Running
		}
	}
	if err != nil {
		k.observer.noteFault(err)
		return exec.Done, failure("running "+k.observer.kernel, cudart.ErrLaunchFailed, "%v", err)
	}
	return state, nil
}
