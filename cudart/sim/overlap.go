package sim

import (
	"math/rand/v2"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// running is a kernel that executes.
type running struct {
	*launch
	grid *exec.Grid
	done bool
}

// flight is the kernels of a stream that execute at once: one, and those that
// began after it by programmatic dependent launch.
type flight struct {
	stream *stream
	active []*running
	last   *running   // the newest, which may be done already
	random *rand.Rand // of the newest; nil without disorder
}

// runKernels executes a kernel to its end, and with it the launches that follow
// in the stream and may begin before it has ended.
func (s *stream) runKernels(first *launch) error {
	f := &flight{stream: s}
	if err := f.begin(first); err != nil {
		return err
	}
	for idle := 0; len(f.active) > 0; {
		if next := f.dependent(); next != nil {
			if err := f.begin(next); err != nil {
				return err
			}
		}
		progress, err := f.round()
		if err != nil {
			return err
		}
		idle++
		if progress {
			idle = 0
		}
		if !progress || f.interrupts() {
			pause(idle)
		}
	}
	return nil
}

// interrupts decides whether others run after a round, so that they see memory in
// between: in disorder, now and then.
func (f *flight) interrupts() bool {
	const oneIn = 8
	return f.random != nil && f.random.IntN(oneIn) == 0
}

// disorder is the randomness of the stream's next kernel, or nil.
func (s *stream) disorder() *rand.Rand {
	d := s.device
	if d.seed == 0 {
		return nil
	}
	s.launches++
	return rand.New(rand.NewPCG(d.seed, uint64(d.info.Ordinal)<<48|uint64(s.number)<<32|s.launches))
}

// dependent takes the next launch off the queue if it may begin: it asked for
// that, and every block before it has launched its dependents or exited.
func (f *flight) dependent() *launch {
	if !f.last.grid.LaunchesDependents() {
		return nil
	}
	return f.stream.takeDependent()
}

// takeDependent takes the command at the head of the queue if it is a kernel
// launched with PDL.
func (s *stream) takeDependent() *launch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || s.queue[0].kernel == nil || !s.queue[0].kernel.shape.PDL {
		return nil
	}
	l := s.queue[0].kernel
	s.queue = s.queue[1:]
	return l
}

// begin launches a kernel. What its griddepcontrol.wait waits for is the launch
// right before it; whether that one waited for those before is its affair.
func (f *flight) begin(l *launch) error {
	cfg := l.config()
	f.random = f.stream.disorder()
	cfg.Disorder = f.random
	if prior := f.last; prior != nil {
		cfg.PriorDone = func() bool { return prior.done }
	}
	grid, err := exec.Launch(l.kernel.code, cfg)
	if err != nil {
		return failure("launching "+l.kernel.Name(), cudart.ErrInvalidValue, "%v", err)
	}
	f.last = &running{launch: l, grid: grid}
	f.active = append(f.active, f.last)
	return nil
}

// round gives every kernel a turn and reports whether one of them made
// progress. The newest comes first, so that one that does not wait for those
// before it, and should, meets memory as they have not yet left it.
func (f *flight) round() (progress bool, err error) {
	for i := len(f.active) - 1; i >= 0; i-- {
		r := f.active[i]
		state, err := r.grid.Round(quantum)
		if err != nil {
			return false, r.failed(err)
		}
		progress = progress || state != exec.Idle
		if state == exec.Done {
			r.done = true
			r.device.count(r.grid.Stats())
			f.active = append(f.active[:i], f.active[i+1:]...)
		}
	}
	return progress, nil
}
