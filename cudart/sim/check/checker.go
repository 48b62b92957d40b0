package check

import (
	"cmp"
	"fmt"
	"sync"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// Config describes the machine that ranks run on.
type Config struct {
	Ranks int
	// SMs is how many multiprocessors a device has; 0 is 8.
	SMs int
	// Major is the compute capability of the devices; 0 is 10. Kernels with wgmma need 9.
	Major, Minor int
	// Steps bounds a run: it is the most turns of hosts, streams and warps. 0 is [UsualSteps].
	Steps int
	// Loop bounds a run as well: it is the most instructions that a warp may execute without a strong access. 0 is four
	// times UsualSteps.
	Loop int
	// Resident is how many blocks of a grid run at once; 0 is as many as the device holds. The others begin when blocks
	// end.
	Resident int
	// GridsScale says that kernels have so many blocks for each of SMs multiprocessors. A device then holds as many
	// blocks as SMs multiprocessors do, and otherwise as many as the largest GPU of its compute capability.
	GridsScale bool
	// Model is by which accesses are judged; the zero value is ModelHardware.
	Model Model
	// Processes gives memory the life that it has where each rank is a process: an allocation begins with undefined
	// contents, which it is a mistake to read, and ends with the task of its rank.
	Processes bool
	// Expire lets waits with a deadline expire: while all poll, time advances, and it is no deadlock as long as a deadline
	// may be in sight. So code behind time-outs is judged. Otherwise the first such wait is a finding and ends the run.
	Expire bool
	// Programs are kernels that checkers share; nil: the checker has its own.
	Programs *Programs

	timeline  *timeline // of Checker.Timeline
	diagnoses bool      // of Checker.diagnose: races
	traces    bool      // of Checker.diagnose: wrong results
}

// UsualSteps bounds runs unless a Config says otherwise.
const UsualSteps = 1 << 22

// Checker runs tasks. It is safe for concurrent use.
type Checker struct {
	cfg Config

	kept sync.Map // of Rank.Keep
}

// New makes a checker.
func New(cfg Config) (*Checker, error) {
	if cfg.Ranks < 1 {
		return nil, fmt.Errorf("%d ranks cannot run anything; give at least 1", cfg.Ranks)
	}
	cfg.SMs, cfg.Major = cmp.Or(cfg.SMs, 8), cmp.Or(cfg.Major, 10)
	cfg.Steps, cfg.Loop = cmp.Or(cfg.Steps, UsualSteps), cmp.Or(cfg.Loop, 4*UsualSteps)
	if cfg.Programs == nil {
		cfg.Programs = NewPrograms()
	}
	return &Checker{cfg: cfg}, nil
}

// Run runs task once for each rank under the random schedule of a seed. The error joins those of the tasks; the report
// is valid with an error, too, and tells what was found until then.
func (c *Checker) Run(seed uint64, task func(*Rank) error) (*Report, error) {
	return c.RunStrategy(Random, seed, task)
}

// RunStrategy is Run with a schedule of a strategy other than Exhaustive, which needs many schedules: see [Explore].
func (c *Checker) RunStrategy(s Strategy, seed uint64, task func(*Rank) error) (*Report, error) {
	chooses, err := s.start(seed, c.cfg.Ranks, usualLength)
	if err != nil {
		return nil, err
	}
	r, err := c.run(chooses, task)
	report := r.report()
	report.Seed, report.Schedule = seed, r.recorded(s, seed)
	return report, err
}

// run runs task once for each rank, as a strategy chooses.
func (c *Checker) run(s strategy, task func(*Rank) error) (*run, error) {
	return c.runUntil(nil, s, task)
}

// runUntil is run, which ends with errStopped soon after over is true; nil is never.
func (c *Checker) runUntil(over func() bool, s strategy, task func(*Rank) error) (*run, error) {
	r := newRun(c, s)
	r.over = over
	for _, rank := range r.ranks {
		rank.host.start(func() error { return task(rank) })
	}
	return r, r.schedule()
}

// info describes the device of a rank.
func (c *Checker) info(rank int) cudart.Info {
	return cudart.Info{
		Backend: "sim", Ordinal: rank, Name: fmt.Sprintf("device of rank %d", rank), Major: c.cfg.Major,
		Minor: c.cfg.Minor, SMs: c.cfg.SMs,
		TotalMemory: 1 << exec.RegionShift,
	}
}
