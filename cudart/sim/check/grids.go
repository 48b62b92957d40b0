package check

import (
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// chain is kernels of a stream that programmatic dependent launch lets overlap: one, and those behind it that are
// launched so. Whether a schedule lets them overlap makes no difference to their order: without griddepcontrol.wait
// nothing orders a kernel behind the one before it in its chain, though that may have ended.
type chain struct {
	before *race.Moment // of the commands before the chain
	last   *kernelTask
}

// grids is a task of a stream: the kernels of a chain that run at once.
type grids struct {
	stream *stream
	active []*kernelTask // in the order of the stream
}

// beginKernel begins a kernel at the head of the stream.
func (s *stream) beginKernel(c command) (task, error) {
	d := s.device.run.detector
	if !c.launch.shape.PDL || s.chain == nil {
		if c.after != nil {
			d.After(s.thread, c.after)
		}
		s.chain = &chain{before: d.Now(s.thread)}
	}
	g := &grids{stream: s}
	return g, g.start(c)
}

// start launches a kernel in the chain of the stream.
func (g *grids) start(c command) error {
	s, run := g.stream, g.stream.device.run
	before, prior := s.chain.before, s.chain.last
	if prior != nil && c.after != nil {
		run.detector.After(s.thread, c.after)
		before = before.With(c.after)
	}
	run.launches++
	o := newObserver(s, c.launch, run.launches, before)
	cfg := c.launch.config()
	cfg.Observer, cfg.Heap = o.observed(), &kernelHeap{o}
	if prior != nil {
		o.prior = prior.observer
		run.priors[o.launch] = prior.observer.launch
		cfg.PriorDone = func() bool { return prior.observer.ended != nil }
	}
	grid, err := exec.Launch(c.launch.kernel.code, cfg)
	if err != nil {
		return err
	}
	s.launches++
	run.kernels = useKernel(run.kernels, c.launch.kernel.module.name, o.kernel, 1)
	t := &kernelTask{
		run: run, grid: grid, observer: o, waiting: map[int][]*actor{},
		id: schedule.Actor{Rank: s.device.rank.Number, Stream: s.number + 1, Launch: s.launches},
	}
	o.id = t.id
	o.watched = run.watchGrid(o.rank, run.launches, o.kernel, c.launch.shape.Grid(), grid)
	s.chain.last, g.active, run.tasks = t, append(g.active, t), append(run.tasks, t)
	t.admit()
	return nil
}

// ready reports whether the stream has something to do: to end a kernel, or to begin one early.
func (g *grids) ready() bool { return g.ended() >= 0 || g.dependent() }

// ended is a kernel that has ended, or -1.
func (g *grids) ended() int {
	return slices.IndexFunc(g.active, func(t *kernelTask) bool { return t.done })
}

// dependent reports whether the command at the head of the stream is a kernel that may begin: it is launched early,
// and every block of the kernel before it has launched its dependents or ended.
func (g *grids) dependent() bool {
	s := g.stream
	if len(s.queue) == 0 || s.queue[0].launch == nil || !s.queue[0].launch.shape.PDL {
		return false
	}
	return s.chain.last.grid.LaunchesDependents()
}

// step begins the next kernel early, or ends one that has ended.
func (g *grids) step() (exec.State, error) {
	i := g.ended()
	if i < 0 {
		if !g.dependent() {
			return exec.Idle, nil
		}
		c := g.stream.queue[0]
		g.stream.queue = g.stream.queue[1:]
		return exec.Running, g.start(c)
	}
	t := g.active[i]
	g.active = slices.Delete(g.active, i, i+1)
	err := t.finish()
	if err != nil {
		for _, other := range g.active {
			other.end(nil)
			other.observer.watched.grid = nil
		}
		return exec.Done, err
	}
	if len(g.active) > 0 {
		return exec.Running, nil
	}
	return exec.Done, nil
}
