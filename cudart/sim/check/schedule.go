package check

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// run is one schedule: all that happens by the choices of a strategy.
type run struct {
	checker  *Checker
	detector *race.Detector
	memory   memory
	ranks    []*Rank
	streams  []*stream // of all ranks, in the order in which they were made
	meeting  meeting
	shared   []cudart.DevicePtr // of Rank.Share

	over      func() bool // ends the run early; nil: nothing does
	strategy  strategy
	explores  *exhaustive      // the strategy, if it is that one
	ids       []schedule.Actor // of all actors, by number
	byID      map[schedule.Actor]*actor
	slow      []*actor      // hosts and streams
	tasks     []*kernelTask // that run
	decisions []decision

	steps    int
	looping  bool   // a warp has executed Config.Loop instructions without a strong access
	strong   int    // strong accesses
	changes  uint64 // of memory, and of what hosts and streams have done
	progress uint64 // changes, but for those by atomic operations, which may poll
	idle     idling

	now          uint64 // nanoseconds, for kernels
	launches     int
	waitedPrior  map[int]bool // launches that have executed griddepcontrol.wait
	priors       map[int]int  // of each launch the one that its griddepcontrol.wait waits for
	trace        digest
	behavior     behavior
	owners       map[*race.Operation]schedule.Actor // the launches of operations of kernels
	instructions uint64
	blocks       Blocks // of grids that have ended
	kernels      []KernelUse
	incomplete   []string

	grids   []*watchedGrid // in the order in which they have begun
	signals signals
	others  []Finding // that are no race
	results []Result
	noted   notes
	found   []taskFinding
	origins *origins // nil but in a run that explains wrong results
}

const (
	stepTime = 1000       // nanoseconds that a step of a host or a stream takes
	turnTime = 50         // and a turn of a warp, or a reading of the clock
	idleTime = 10_000_000 // and a round in which nothing but polling happens, after so many
	patient  = 1 << 11    // of them
	maxIdle  = 1 << 13    // rounds without progress after which nothing can go on
)

func newRun(c *Checker, s strategy) *run {
	r := &run{
		checker: c, strategy: s, detector: race.New(), memory: newMemory(), shared: make([]cudart.DevicePtr, c.cfg.Ranks),
		byID: map[schedule.Actor]*actor{}, owners: map[*race.Operation]schedule.Actor{}, priors: map[int]int{},
		waitedPrior: map[int]bool{},
	}
	if c.cfg.diagnoses {
		r.detector.Diagnose()
	}
	if c.cfg.traces {
		r.origins = &origins{run: r, pages: map[uint64]*originPage{}}
	}
	r.explores, _ = s.(*exhaustive)
	r.behavior = newBehavior()
	r.memory.shadow.Unwritten = r.uninitialized(nil)
	for n := range c.cfg.Ranks {
		rank := &Rank{Number: n, World: c.cfg.Ranks, run: r, host: &host{}}
		rank.host.thread = r.detector.NewThread(Actor{Rank: n, Command: "host code"}, hostPlace(n), nil)
		rank.Device = &device{run: r, rank: rank, info: c.info(n)}
		r.ranks = append(r.ranks, rank)
		r.addActor(&actor{id: schedule.Actor{Rank: n}, host: rank.host})
	}
	return r
}

// Nanoseconds implements exec.Clock. Time passes by each reading, as a warp that waits for a moment may do so in a turn
// without a limit. A turn of a warp begins with a reading.
func (r *run) Nanoseconds() uint64 {
	r.now += turnTime
	return r.now
}

// schedule lets hosts, streams and warps take turns until all hosts have ended.
func (r *run) schedule() error {
	defer func() {
		for _, rank := range r.ranks {
			rank.host.end()
		}
	}()
	for turn := 0; ; turn++ {
		r.hold()
		if turn%turnsUntilOver == 0 && r.over != nil && r.over() {
			return errStopped
		}
		if r.looping || r.steps >= r.checker.cfg.Steps {
			return r.exhausted()
		}
		var next choice
		stuck := r.livelocked()
		if !stuck { // a choice that is not taken would be missing in a replay
			next = r.strategy.choose(r)
		}
		switch {
		case next.end != nil:
			return next.end
		case next.actor != nil:
			if err := r.perform(next); err != nil {
				return err
			}
		case !stuck && r.allEnded() && len(r.tasks) == 0:
			return r.errors()
		case r.isDeadlock() || !r.poll():
			return errors.Join(r.deadlock(), r.errors())
		}
	}
}

// ErrBudget is the error of a run that has used up [Config].Steps or Loop. Report.Incomplete then says which.
var ErrBudget = errors.New("the ranks did not end")

// errStopped is the error of a run that was stopped from outside, every so many turns.
var errStopped = errors.New("the run was stopped")

const turnsUntilOver = 16

// exhausted ends a run that has used up its budget.
func (r *run) exhausted() error {
	r.endless()
	budget := fmt.Sprintf("%d steps", r.steps)
	if r.looping {
		budget = fmt.Sprintf("%d instructions of a warp without a strong access", r.checker.cfg.Loop)
	}
	r.isIncomplete("the run ended after %s, its budget", budget)
	return errors.Join(fmt.Errorf("%w within %s", ErrBudget, budget), r.errors())
}

// perform lets an actor take its turn, and records that. An error ends the run.
func (r *run) perform(next choice) error {
	a := next.actor
	a.begins(r)
	switch {
	case a.host != nil:
		r.count(stepTime)
		r.stepHost(a)
		r.changed()
		a.ends(r, false)
	case a.stream != nil:
		a.ends(r, !a.stream.steps(next.most))
	default:
		next.most = a.task.turn(a, next)
	}
	r.decisions = append(r.decisions, decision{uint32(a.number), uint32(next.most)})
	r.trace.mix(uint64(a.number), uint64(next.most))
	if r.explores != nil {
		return r.explores.taken(a)
	}
	return nil
}

// changed notes progress that others may wait for.
func (r *run) changed() {
	r.changes++
	r.progress++
}

// stepHost runs the host code of a rank until it waits or ends.
func (r *run) stepHost(a *actor) {
	a.host.step()
	if a.host.ended && r.checker.cfg.Processes {
		r.endRank(r.ranks[a.id.Rank])
	}
}

// count counts a step, which takes a moment.
func (r *run) count(nanoseconds uint64) {
	r.steps++
	r.now += nanoseconds
}

// idling is what is known of a time without progress.
type idling struct {
	progress uint64 // run.progress when it began
	strong   int    // run.strong when it began
	steps    int    // run.steps when it began, or when all that poll have polled last
	rounds   int    // in which all that poll have polled
}

// livelocked reports whether nothing but polling has happened for a while. Atomic operations that poll change memory
// as far as the scheduler knows, and wake one another.
func (r *run) livelocked() bool {
	const many = 1 << 12
	i := &r.idle
	if i.progress != r.progress {
		*i = idling{progress: r.progress, strong: r.strong, steps: r.steps}
	}
	return r.steps-i.steps >= many
}

// vain is how many strong accesses there have been since the last progress, of those after the first so many of the
// run. Strategies tell by it that whoever runs does nothing but poll.
func (r *run) vain(first int) int { return r.strong - max(first, r.idle.strong) }

// poll lets all poll that wait for memory to change, after a while at a later time: a wait may have a deadline. It
// reports whether that makes sense.
func (r *run) poll() bool {
	i := &r.idle
	i.steps = r.steps
	i.rounds++
	if i.rounds > patient || r.checker.cfg.Expire {
		r.now += idleTime * uint64(1+i.rounds/64)
	}
	r.changes++ // for streams
	some := false
	r.candidates(func(a *actor) bool {
		a.forced = a.task != nil
		some = some || a.forced || a.stream != nil && a.stream.busy()
		return true
	})
	return some && i.rounds <= maxIdle
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

var _ exec.Clock = (*run)(nil)
