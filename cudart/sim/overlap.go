package sim

import (
	"math/rand/v2"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// runningKernel is a kernel that executes.
type runningKernel struct {
	*launch
	grid   *exec.Grid
	number uint64 // among the launches of the stream
	done   bool
}

// kernelTask is the kernels of a stream that execute concurrently: one, and those that began after it
// by programmatic dependent launch.
type kernelTask struct {
	stream *stream
	active []*runningKernel
	last   *runningKernel // the newest, which may be done already
	random *rand.Rand     // of the newest; nil without disorder
}

// begin makes a kernel ready to execute, with the launches to come that follow it
// in the stream and may begin before it has ended.
func (l *launch) begin(s *stream) (task, error) {
	f := &kernelTask{stream: s}
	return f, f.start(l)
}

// step gives each kernel of the task a turn.
func (f *kernelTask) step() (exec.State, error) {
	if next := f.dependent(); next != nil {
		if err := f.start(next); err != nil {
			return exec.Done, err
		}
	}
	progress, err := f.turn()
	switch {
	case err != nil || len(f.active) == 0:
		return exec.Done, err
	case !progress:
		return exec.Idle, nil
	case f.interrupts():
		f.stream.device.backOff(0, 0)
	}
	return exec.Running, nil
}

// interrupts decides, in disorder and at random, whether other processes run after a turn, so that they
// see memory in between.
func (f *kernelTask) interrupts() bool {
	const oneIn = 8
	return f.random != nil && f.random.IntN(oneIn) == 0
}

// dependent takes the next launch off the queue if it may begin: it asked for
// that, and every block before it has launched its dependents or exited.
func (f *kernelTask) dependent() *launch {
	if !f.last.grid.LaunchesDependents() {
		return nil
	}
	return f.stream.takeDependent()
}

// takeDependent takes the command at the head of the queue if it is a kernel
// launched with PDL.
func (s *stream) takeDependent() *launch {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if len(s.queue) == 0 {
		return nil
	}
	l, ok := s.queue[0].(*launch)
	if !ok || !l.shape.PDL {
		return nil
	}
	s.queue = s.queue[1:]
	return l
}

// start launches a kernel. Its griddepcontrol.wait waits for the launch right before it, and not for
// earlier ones.
func (f *kernelTask) start(l *launch) error {
	cfg := l.config()
	f.stream.launches++
	f.random = l.device.random(f.stream.number, f.stream.launches)
	cfg.Disorder, cfg.History, cfg.GPUScope = f.random, &history, &f.stream.device.gpuScope
	if prior := f.last; prior != nil {
		cfg.PriorDone = func() bool { return prior.done }
	}
	grid, err := exec.Launch(l.kernel.code, cfg)
	if err != nil {
		return failure("launching "+l.kernel.Name(), cudart.ErrInvalidValue, "%v", err)
	}
	f.last = &runningKernel{launch: l, grid: grid, number: f.stream.launches}
	f.active = append(f.active, f.last)
	return nil
}

// turn gives every kernel a turn and reports whether one of them made progress. The newest kernel
// runs first: if it lacks a griddepcontrol.wait, it sees memory that the older kernels have not yet
// written.
func (f *kernelTask) turn() (progress bool, err error) {
	for i := len(f.active) - 1; i >= 0; i-- {
		r := f.active[i]
		state, err := r.grid.Turn(quantum)
		if err != nil {
			r.device.output.flush()
			return false, r.failed(err)
		}
		progress = progress || state != exec.Idle
		if state == exec.Done {
			r.done = true
			r.device.count(r.grid.Stats())
			r.device.output.flush()
			f.active = append(f.active[:i], f.active[i+1:]...)
		}
	}
	return progress, nil
}
