package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	engine "gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

// maxScheduleBytes is more than the schedules of large kernels have.
const maxScheduleBytes = 256 << 20

// ShowReplay runs the schedule of a file again, prints the results, and writes the files.
func ShowReplay(ctx context.Context, a *program.Invocation, o *Options, notify func(string)) error {
	s, c, err := o.readReplay(ctx, notify)
	if err != nil {
		return err
	}
	p := &Plan{options: o, cases: []plannedCase{c}, schedules: 1}
	if p.suppressions, err = readSuppressions(o.Suppressions); err != nil {
		return err
	}
	checker, err := engine.New(c.config())
	if err != nil {
		return err
	}
	report, err := checker.Replay(s, c.task)
	if errors.Is(err, engine.ErrOtherRun) {
		return exit.Usagef("%s: %w", o.Replay, err)
	}
	m := newMerge(p, a)
	m.result.Seed = s.Seed
	report.Schedule = s
	explored := report.Explored(err)
	checker.Diagnose(explored, c.task)
	m.add(0, c, explored, 0)
	drawing := m.drawTimeline(o.Timeline)
	found, writing := o.conclude(a, m.report())
	return outcome.Ended(a, found, errors.Join(drawing, writing))
}

// readReplay reads the file of --replay, and makes its calls.
func (o *Options) readReplay(ctx context.Context, notify func(string)) (*schedule.Schedule, plannedCase, error) {
	text, err := settings.ReadFile(o.Replay, maxScheduleBytes)
	if err != nil {
		return nil, plannedCase{}, exit.Usagef("reading the schedule: %w", err)
	}
	s, err := schedule.Parse(text)
	if err != nil {
		return nil, plannedCase{}, exit.Usagef("%s: %w", o.Replay, err)
	}
	var r request
	if err := json.Unmarshal(s.Command, &r); err != nil {
		return nil, plannedCase{}, exit.Usagef("%s: reading the command: %w", o.Replay, err)
	}
	c, err := o.again(ctx, r, s.Ranks, notify)
	if err != nil {
		return nil, plannedCase{}, fmt.Errorf("%s: %w", o.Replay, err)
	}
	return s, c, nil
}

// again makes the calls of a request.
func (o *Options) again(ctx context.Context, r request, world int, notify func(string)) (plannedCase, error) {
	d, ok := collective.ParseDType(r.DType)
	if !ok || r.Launches < 1 || r.Launches > mostLaunches || r.Steps < 0 || r.Steps > mostSteps ||
		len(r.Counts)+len(r.Matrices) == 0 {
		return plannedCase{}, exit.Usagef("the file does not say which calls were made")
	}
	if what, ok := matmul.Find(r.Collective); ok {
		return o.againProducts(ctx, what, r, d, world, notify)
	}
	on, err := parseArch(cmp.Or(r.Arch, usualArch.String()))
	if err != nil {
		return plannedCase{}, &exit.UsageError{Err: err}
	}
	a, shape, err := o.algorithm(ctx, r, d, world, notify)
	if err != nil {
		return plannedCase{}, err
	}
	calls := checktask.Calls{
		Algorithm: a, Shape: shape, DType: d, Op: collective.Op(r.Op), Root: r.Root, Counts: r.Counts, Launches: r.Launches,
		InPlace: r.InPlace, PDL: r.PDL, Replayed: r.Replayed, MaxBlocks: r.MaxBlocks, Seed: r.Seed,
	}
	for _, count := range r.Counts {
		if count < 0 {
			return plannedCase{}, exit.Usagef("the file has a call of %d elements", count)
		}
		if err := a.Check(collective.Call{Count: count, DType: d, Op: calls.Op, Root: r.Root, InPlace: r.InPlace},
			world); err != nil {
			return plannedCase{}, &exit.UsageError{Err: err}
		}
	}
	made := plannedCase{calls: calls, world: world, on: on, command: r}
	if r.Mixed {
		made.calls.Others = made.others()
	}
	return made, nil
}

// algorithm finds the algorithm of a request: one of gpurun's own, or a kernel file.
func (o *Options) algorithm(ctx context.Context, r request, d collective.DType, world int, notify func(string),
) (*collective.Algorithm, collective.Shape, error) {
	if kernelfile.IsPath(r.Algorithm) {
		f, text, err := kernelcode.Read(r.Algorithm)
		if err != nil {
			return nil, collective.Shape{}, err
		}
		p := &Plan{options: o}
		bundle, err := p.bundle(ctx, f, text, world, []collective.DType{d}, []collective.Op{collective.Op(r.Op)}, notify)
		if err != nil {
			return nil, collective.Shape{}, err
		}
		return loadFile(f, bundle)
	}
	c, ok := kernels.Find(r.Collective)
	if !ok {
		return nil, collective.Shape{}, unknown(r.Collective)
	}
	a, ok := c.Algorithm(r.Algorithm)
	if !ok || a.Needs.Library != "" {
		return nil, collective.Shape{}, exit.Usagef("%s has no algorithm %q of gpurun's own", c.Name, r.Algorithm)
	}
	return a, c.Shape, nil
}
