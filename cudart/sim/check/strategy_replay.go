package check

import (
	"errors"
	"fmt"

	"gpurun/cudart/sim/check/schedule"
)

// ErrOtherRun says that a replay did something else than the run that was recorded.
var ErrOtherRun = errors.New(
	"the replay differs from the recorded run: the kernel, the command or gpurun itself is another one")

// Replay runs a schedule again. The error wraps ErrOtherRun where the run was not the same, and those of the tasks.
func (c *Checker) Replay(s *schedule.Schedule, task func(*Rank) error) (*Report, error) {
	if s.Ranks != c.cfg.Ranks || s.SMs != c.cfg.SMs {
		return nil, fmt.Errorf("the schedule is for %d ranks with %d multiprocessors, not for %d with %d: %w", s.Ranks, s.SMs,
			c.cfg.Ranks, c.cfg.SMs, ErrOtherRun)
	}
	r, err := c.run(&replay{turns: s.Turns}, task)
	report := r.report()
	report.Seed, report.Schedule = s.Seed, r.recorded(Strategy(s.Strategy), s.Seed)
	report.Schedule.Version, report.Schedule.Command = s.Version, s.Command
	if report.Trace != s.Trace {
		err = errors.Join(fmt.Errorf("trace %#x instead of %#x: %w", report.Trace, s.Trace, ErrOtherRun), err)
	}
	return report, err
}

// replay takes the turns of a schedule, without those that are not possible. Behind the last one it is steady.
type replay struct {
	turns []schedule.Turn
	next  int
	steady
}

func (s *replay) choose(r *run) choice {
	for s.next < len(s.turns) {
		turn := s.turns[s.next]
		if a := r.byID[turn.Actor]; a != nil && r.canGoOn(a) {
			s.next++
			s.running = a
			return choice{actor: a, most: turn.Most, accesses: -1}
		}
		if r.lowest() == nil { // it may be possible when all have polled
			return choice{}
		}
		s.next++
	}
	return s.steady.choose(r)
}

// steady lets everyone run until it waits, the lowest number first.
type steady struct{ running *actor }

func (s *steady) choose(r *run) choice {
	if s.running == nil || !r.canGoOn(s.running) {
		s.running = r.lowest()
	}
	if s.running == nil {
		return choice{}
	}
	return untilItWaits(s.running)
}
