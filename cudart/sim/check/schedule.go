package check

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// run is one schedule: all that happens under a seed.
type run struct {
	checker  *Checker
	seed     uint64
	random   *rand.Rand
	detector *race.Detector
	memory   memory
	ranks    []*Rank
	streams  []*stream // of all ranks, in the order in which they were made
	meeting  meeting
	shared   []cudart.DevicePtr // of Rank.Share

	steps        int
	now          uint64 // nanoseconds, for kernels
	launches     int
	trace        digest
	instructions uint64
	incomplete   []string

	grids   []*watchedGrid // in the order in which they have begun
	signals signals
	others  []Finding // that are no race
	results []Result
	found   []Finding // of tasks
}

const (
	stepTime = 1000       // nanoseconds that a step takes
	idleTime = 10_000_000 // and one in which nothing but polling has happened for long
	maxIdle  = 1 << 14    // steps without progress after which nothing can go on
	maxBurst = 5          // logarithm of the most steps that a stream makes in a row
)

func newRun(c *Checker, seed uint64) *run {
	r := &run{
		checker: c, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), detector: race.New(),
		memory: newMemory(), shared: make([]cudart.DevicePtr, c.cfg.Ranks),
	}
	for n := range c.cfg.Ranks {
		rank := &Rank{Number: n, World: c.cfg.Ranks, run: r, host: &host{}}
		rank.host.thread = r.detector.NewThread(Actor{Rank: n, Command: "host code"}, hostPlace(n), nil)
		rank.Device = &device{run: r, rank: rank, info: c.info(n)}
		r.ranks = append(r.ranks, rank)
	}
	return r
}

// Nanoseconds implements exec.Clock.
func (r *run) Nanoseconds() uint64 { return r.now }

// schedule lets hosts and streams take steps until all hosts have ended.
func (r *run) schedule() error {
	defer func() {
		for _, rank := range r.ranks {
			rank.host.end()
		}
	}()
	for idle := 0; ; {
		r.hold()
		ready := r.ready()
		switch {
		case len(ready) == 0 && r.allEnded():
			return r.errors()
		case len(ready) == 0 || idle > maxIdle || idle > 0 && r.isDeadlock(idle, len(ready)):
			return errors.Join(r.deadlock(), r.errors())
		case r.steps >= r.checker.cfg.Steps:
			r.isIncomplete("the run ended after %d steps, its budget", r.steps)
			return errors.Join(fmt.Errorf("the ranks did not end within %d steps; allow more", r.steps), r.errors())
		}
		choice := r.random.IntN(len(ready))
		r.trace.mix(uint64(len(ready)), uint64(choice))
		idle++
		if ready[choice]() {
			idle = 0
		}
		if idle > maxIdle/4 {
			r.now += idleTime
		}
	}
}

// ready lists what can take a step, in a fixed order: each returns whether it has made progress.
func (r *run) ready() []func() bool {
	var all []func() bool
	for _, rank := range r.ranks {
		if h := rank.host; h.ready() {
			all = append(all, func() bool { r.count(); h.step(); return true })
		}
	}
	for _, s := range r.streams {
		if s.busy() {
			all = append(all, s.steps)
		}
	}
	return all
}

// count counts a step, which takes a moment.
func (r *run) count() {
	r.steps++
	r.now += stepTime
}

func (r *run) allEnded() bool {
	for _, rank := range r.ranks {
		if !rank.host.ended {
			return false
		}
	}
	return true
}

// errors joins the errors of the tasks.
func (r *run) errors() error {
	var all []error
	for _, rank := range r.ranks {
		if err := rank.host.err; err != nil {
			r.isIncomplete("the task of rank %d failed", rank.Number)
			all = append(all, fmt.Errorf("rank %d: %w", rank.Number, err))
		}
	}
	return errors.Join(all...)
}

// isIncomplete notes once that the run did not check something.
func (r *run) isIncomplete(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.incomplete, text) {
		r.incomplete = append(r.incomplete, text)
	}
}

// turns is the random order of turns in a grid. Launches count from 1; the scheduler's own numbers have 0.
func (r *run) turns(launch int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(launch))) }

var _ exec.Clock = (*run)(nil)
