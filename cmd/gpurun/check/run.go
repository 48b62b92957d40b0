package check

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/suggest"
	engine "gpurun/cudart/sim/check"
)

// Run explores the schedules of all cases, once, and again until the time of --minutes is over. If that comes before
// all have been explored once, the check is incomplete.
func (p *Plan) Run(ctx context.Context, a *program.Invocation) (checkreport.Report, error) {
	m := newMerge(p, a)
	progress := newProgress(a.Err, len(p.cases)*p.schedules)
	defer progress.clear()
	end, short := p.options.end(), 0
	for round := uint64(0); round == 0 || !end.IsZero() && !isOver(end); round++ {
		for i, c := range p.cases {
			ran := m.result.Cases[i].Schedules
			if err := p.explore(ctx, m, i, c, round, end, progress); err != nil {
				progress.clear()
				return p.interrupted(ctx, m, err)
			}
			if ran = m.result.Cases[i].Schedules - ran; round == 0 && ran < p.schedules && isOver(end) {
				m.result.Cases[i].Incomplete = append(m.result.Cases[i].Incomplete,
					fmt.Sprintf("%d of %d schedules were run when the time of --minutes was over", ran, p.schedules))
				short++
			}
		}
	}
	if short > 0 {
		m.incomplete = append(m.incomplete, fmt.Sprintf("the time of --minutes was over before the schedules of %d of %d "+
			"cases were run: give more minutes, or fewer schedules", short, len(p.cases)))
	}
	m.findUnlaunched()
	progress.clear()
	return m.report(), m.drawTimeline(p.options.Timeline)
}

// interrupted is what was found until a signal came.
func (p *Plan) interrupted(ctx context.Context, m *merge, err error) (checkreport.Report, error) {
	ran := 0
	for _, c := range m.result.Cases {
		ran += c.Schedules
	}
	if ctx.Err() == nil || ran == 0 {
		return checkreport.Report{}, err
	}
	m.cut = true
	m.incomplete = append(m.incomplete, fmt.Sprintf("the check was interrupted after %s of %d",
		suggest.Count(ran, "schedule", "schedules"), len(p.cases)*p.schedules))
	r := m.report()
	r.ExitCode = exit.Code(err)
	return r, err
}

// isOver reports whether a time has come; the zero time never comes.
func isOver(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }

// explore explores a case until a time: its variants share the schedules.
func (p *Plan) explore(ctx context.Context, m *merge, number int, c plannedCase, round uint64, end time.Time,
	progress *progress,
) error {
	variants := c.variants()
	for i, v := range variants {
		e := engine.Exploration{
			Strategies: p.options.Strategies, Seed: p.options.Seed + round,
			Schedules: (p.schedules + len(variants) - 1 - i) / len(variants),
			Progress:  progress.of(number, m), Stable: p.stable(), Settled: p.settled(), Diagnose: true, Deadline: end,
			ShrinkTime: m.shrinkTime, ShrinkEach: eachShrinkTime, Stop: ctx.Done(),
		}
		if e.Schedules == 0 || isOver(end) {
			continue
		}
		if m.shrinkTime > 0 {
			e.ShrinkRuns = max(0, min(e.Schedules+fewestShrinkRuns, m.shrinkLeft))
		}
		begun := time.Now()
		cfg := v.config()
		cfg.Programs = p.programs
		found, err := explore(ctx, cfg, e, v.task)
		if found == nil {
			return err
		}
		if len(found.Findings) > 0 {
			m.shrinkLeft -= e.ShrinkRuns
		}
		m.shrinkTime -= found.Shrinking
		m.add(number, v, found, time.Since(begun))
		if err != nil {
			return err
		}
		progress.done += found.Coverage.Schedules
		progress.total -= e.Schedules - found.Coverage.Schedules
	}
	return nil
}

// What makes schedules shorter runs about as often as the exploration, and this often in all.
const fewestShrinkRuns, allShrinkRuns = 8, 240

// How long a schedule of a finding may be made shorter, and all of them.
const eachShrinkTime, allShrinkTime = 10 * time.Second, 30 * time.Second

// patience is how long what runs has to end when a signal comes.
const patience = 5 * time.Second

// stable is how many schedules that find nothing more end an exploration: none if somebody asked for schedules or time,
// or accepts findings, behind which there may be others.
func (p *Plan) stable() int {
	const enough = 8
	o := p.options
	if o.Schedules > 0 || o.minutes > 0 || o.Suppressions != "" {
		return 0
	}
	return enough
}

// settled is how many schedules without anything in a new order end an exploration that finds nothing: one of each
// strategy, and none if somebody asked for schedules or time.
func (p *Plan) settled() int {
	o := p.options
	switch {
	case o.Schedules > 0 || o.minutes > 0:
		return 0
	case len(o.Strategies) > 0:
		return len(o.Strategies)
	}
	return len(engine.DefaultStrategies)
}

// explore runs an exploration, until the context ends. It then returns what was found, too, or nil if that takes long:
// what still runs ends with the process.
func explore(ctx context.Context, cfg engine.Config, e engine.Exploration, task func(*engine.Rank) error,
) (*engine.Explored, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type result struct {
		found *engine.Explored
		err   error
	}
	done := make(chan result, 1)
	go func() {
		found, err := engine.Explore(cfg, e, task)
		done <- result{found, err}
	}()
	select {
	case r := <-done:
		return r.found, cmp.Or(r.err, context.Cause(ctx))
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.found, context.Cause(ctx)
	case <-time.After(patience):
		return nil, context.Cause(ctx)
	}
}
