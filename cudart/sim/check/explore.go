package check

import (
	"cmp"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpurun/cudart/sim/check/schedule"
)

// Exploration says which schedules [Explore] runs.
type Exploration struct {
	// Strategies take turns: schedule i is of strategy i modulo their number. None stands for DefaultStrategies.
	Strategies []Strategy
	// Schedules is the most schedules that are run; 0 is 64.
	Schedules int
	Seed      uint64
	// Weak has the strategy Exhaustive run the schedules, too, that differ in the order of weak accesses, or of arrivals
	// at barriers. Then all results are seen that memory in order can have, and not all races alone.
	Weak bool
	// Deadline is when no further schedule begins; the zero time is never.
	Deadline time.Time
	// Workers is how many schedules run at the same time; 0 is as many as Go has processors. What is reported does not
	// depend on it, unless the deadline ends the exploration.
	Workers int
	// Stable ends the exploration when something was found and so many schedules in a row have found nothing more; 0
	// is never.
	Stable int
	// Settled ends the exploration when nothing was found and so many schedules in a row have shown no two instructions of
	// two launches in a new order; 0 is never. As many as there are strategies give each of them a try.
	Settled int
	// ShrinkRuns is the most runs that shrink the schedules of findings, of all together; 0 leaves schedules as they are.
	ShrinkRuns int
	// ShrinkTime is the most time that shrinking takes, and ShrinkEach that of one finding; 0 is no limit. A schedule that
	// is not shorter by then stays as it is.
	ShrinkTime, ShrinkEach time.Duration
	// Stop ends the exploration when it is closed. Schedules that run then count as not run, and nothing is shrunk or
	// diagnosed; nil: nothing stops it.
	Stop <-chan struct{}
	// Diagnose runs a schedule of each race that nothing orders once more, to say what would order it.
	Diagnose bool
	// Progress, where it is not nil, is called after each schedule, in their order, by one goroutine at a time.
	Progress func(Coverage)
	// Each, where it is not nil, is called with what each schedule has shown, in their order, before Progress.
	Each func(*Report, error)
}

// Explored is what the schedules of an exploration have found, together.
type Explored struct {
	Findings []Found
	// Incomplete is what no schedule may have executed for a clean result: see Report.Incomplete.
	Incomplete []string
	// Err is the error of the first schedule whose task failed, and Failed that schedule.
	Err    error
	Failed *schedule.Schedule
	Coverage
	// Steps, WarpInstructions and Blocks are the sums over all schedules.
	Steps, WarpInstructions uint64
	Blocks                  Blocks
	Kernels                 []KernelUse
	// Shrinking is how long it took to shrink schedules.
	Shrinking time.Duration `json:"-"`
}

// Clean reports whether all schedules have checked everything, and found nothing.
func (e *Explored) Clean() bool { return len(e.Findings)+len(e.Incomplete) == 0 && e.Err == nil }

// Coverage is how much of what can happen an exploration has seen.
type Coverage struct {
	Schedules int // that have run
	Planned   int // the most that will run
	// Complete says that the strategy Exhaustive has run every schedule that differs in the order of strong accesses.
	Complete bool
	// Settled says that it has ended early, by Exploration.Settled.
	Settled bool
	// Behaviors counts the different orders of strong accesses to the same words.
	Behaviors int
	// New tells of the last schedules, the first one first, whether the behavior was new.
	New []bool
	// Pairs counts the pairs of instructions that accessed the same bytes from two threads, one of them writing.
	// BothOrders counts those that were seen in both orders.
	Pairs, BothOrders int
}

// Explore runs a task for each rank, under many schedules. The task runs many times, and at the same time: what it
// shares with other runs must be safe for concurrent use. The error is that of the configuration; what tasks
// return is in Explored.
func Explore(cfg Config, e Exploration, task func(*Rank) error) (*Explored, error) {
	c, err := New(cfg)
	if err != nil {
		return nil, err
	}
	e.Schedules, e.Workers = cmp.Or(e.Schedules, 64), cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	if len(e.Strategies) == 0 {
		e.Strategies = DefaultStrategies
	}
	if slices.Equal(e.Strategies, []Strategy{Exhaustive}) {
		all := newMerge(e)
		c.exhaust(e, all, task)
		c.conclude(e, all, task)
		return &all.Explored, nil
	}
	for _, s := range e.Strategies {
		if _, err := s.start(0, cfg.Ranks, usualLength); err != nil {
			return nil, err
		}
	}
	all := newMerge(e)
	results := make(chan result, e.Workers)
	var enough atomic.Bool
	go c.runAll(e, task, results, &enough)
	waiting := map[int]result{}
	for r := range results {
		if errors.Is(r.err, errStopped) {
			continue
		}
		waiting[r.number] = r
		for next, ok := waiting[all.Schedules]; ok && !enough.Load(); next, ok = waiting[all.Schedules] {
			delete(waiting, next.number)
			all.add(next)
			all.Settled = all.isSettled(e.Settled) && all.Schedules < e.Schedules
			enough.Store(all.isStable(e.Stable) || all.Settled)
		}
	}
	if e.stopped() { // some of the schedules before these have not run
		for _, number := range slices.Sorted(maps.Keys(waiting)) {
			all.add(waiting[number])
		}
	}
	c.conclude(e, all, task)
	return &all.Explored, nil
}

// conclude shrinks and diagnoses what was found.
func (c *Checker) conclude(e Exploration, all *merge, task func(*Rank) error) {
	if e.stopped() {
		return
	}
	begun := time.Now()
	c.shrinkAll(e, &all.Explored, task)
	all.Shrinking = time.Since(begun)
	if !e.stopped() {
		c.diagnoseAll(e, &all.Explored, task)
	}
}

// stopped reports whether Stop is closed.
func (e *Exploration) stopped() bool {
	select {
	case <-e.Stop:
		return true
	default:
		return false
	}
}

// result is what the schedule of a number has shown.
type result struct {
	number int
	report *Report
	err    error
	strong int // accesses
}

// runAll runs the schedules, several at the same time, until what has run is enough, and closes results behind them.
// The first one, which runs in any case, tells how many strong accesses a run has. Schedules that need to know that
// wait for it.
func (c *Checker) runAll(e Exploration, task func(*Rank) error, results chan<- result, enough *atomic.Bool) {
	defer close(results)
	numbers := make(chan int)
	length, known := usualLength, make(chan struct{})
	explored := func(n int) result {
		switch {
		case n == 0:
			first := c.explored(e, 0, usualLength, task)
			length = max(1, first.strong)
			close(known)
			return first
		case !e.strategy(n).needsLength():
			return c.explored(e, n, usualLength, task)
		}
		<-known
		return c.explored(e, n, length, task)
	}
	var workers sync.WaitGroup
	for range e.Workers {
		workers.Go(func() {
			for n := range numbers {
				results <- explored(n)
			}
		})
	}
	for i, n := range e.order() {
		if e.stopped() || i > 0 && (enough.Load() || !e.Deadline.IsZero() && !time.Now().Before(e.Deadline)) {
			break
		}
		numbers <- n
	}
	close(numbers)
	workers.Wait()
}

// order has the numbers of the schedules in the order in which they begin. Among the first of each strategy, those that
// need no length come first: they run beside the schedule that tells it.
func (e *Exploration) order() []int {
	all := make([]int, e.Schedules)
	for i := range all {
		all[i] = i
	}
	waits := func(n int) bool { return n > 0 && e.strategy(n).needsLength() }
	slices.SortStableFunc(all[:min(len(e.Strategies), len(all))], func(a, b int) int {
		switch {
		case waits(a) == waits(b):
			return 0
		case waits(a):
			return 1
		}
		return -1
	})
	return all
}

// strategy is that of the schedule of a number.
func (e *Exploration) strategy(number int) Strategy { return e.Strategies[number%len(e.Strategies)] }

// explored runs the schedule of a number.
func (c *Checker) explored(e Exploration, number, length int, task func(*Rank) error) result {
	strategy, seed := e.strategy(number), seedOf(e.Seed, number)
	chooses, err := strategy.start(seed, c.cfg.Ranks, length)
	if err != nil {
		return result{number: number, report: &Report{}, err: err}
	}
	r, err := c.runUntil(e.stopped, chooses, task)
	if errors.Is(err, errStopped) {
		return result{number: number, report: &Report{}, err: err}
	}
	report := r.report()
	report.Seed = seed
	if len(report.Findings) > 0 || err != nil {
		report.Schedule = r.recorded(strategy, seed)
	}
	return result{number, report, err, r.strong}
}

// seedOf is the seed of a schedule of an exploration.
func seedOf(seed uint64, number int) uint64 {
	d := digest(seed)
	d.mix(uint64(number))
	return uint64(d)
}

// exhaust runs all schedules, one after the other. Some end early, because they show nothing new.
func (c *Checker) exhaust(e Exploration, all *merge, task func(*Rank) error) {
	s := &exhaustive{weak: e.Weak}
	for all.Schedules < e.Schedules && (e.Deadline.IsZero() || time.Now().Before(e.Deadline)) {
		s.begin()
		r, err := c.runUntil(e.stopped, s, task)
		if errors.Is(err, errStopped) {
			return
		}
		report := r.report()
		redundant := errors.Is(err, errCut)
		if redundant {
			err = nil
		}
		if len(report.Findings) > 0 || err != nil {
			report.Schedule = r.recorded(Exhaustive, e.Seed)
		}
		if s.stuck && err == nil && r.idle.rounds == 0 {
			s.search.Open = "a load was taken for a poll"
		}
		if redundant {
			all.addFindings(report)
		} else {
			all.add(result{report: report, err: err})
		}
		if !s.search.Next() {
			all.Complete = s.search.Open == ""
			return
		}
	}
}
