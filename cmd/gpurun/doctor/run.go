package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// Run looks at the machine and, where it has GPUs or c asks for the simulator,
// checks every pair of them, with failures made on purpose if any. It must be
// called in the agent; see program.Invocation.Guarded. What is wrong with the machine is a finding
// and no error.
func Run(ctx context.Context, a *program.Invocation, c settings.Config,
	inject ...workload.Injection,
) (Diagnosis, error) {
	sources := sourcesFor(c)
	if none := lackOfGPUs(c); none != nil {
		if len(inject) > 0 {
			return Diagnosis{}, exit.Usagef("--inject needs the check of pairs, and there are no GPUs to check: " +
				"add --device sim")
		}
		d := Examine(sources)
		if sources.RequireGPU || !errors.Is(none, cudart.ErrNoDevice) {
			d.AddNoGPU(none)
		}
		return d, nil
	}
	run, err := planPairs(c, inject)
	if err != nil {
		return Diagnosis{}, err
	}
	d := Examine(sources)
	progress := session.NewProgress(a.Err)
	defer progress.Clear()
	report, err := run.Measure(ctx, a, nil, progress)
	if report.ExitCode > exit.Signaled && report.ExitCode != exit.UnfitMachine {
		return d, err
	}
	d.AddPairs(report, run.Job.Sizes[0], run.Job.NoPeerAccess() != "")
	return d, nil
}

// Verdict is nil if no check has failed, else an exit.Error with the checks that have failed.
func Verdict(d Diagnosis) error {
	if d.Worst() != Fail {
		return nil
	}
	code := exit.Environment
	switch {
	case d.GPUFailed():
		code = exit.UnfitMachine
	case d.WrongData():
		code = exit.WrongData
	}
	var failed []string
	for _, f := range d.Findings {
		if f.Status == Fail {
			failed = append(failed, f.Check+": "+f.Summary)
		}
	}
	return &exit.Error{Code: code, Said: strings.Join(failed, "\n")}
}

// Checks examines the machine for a command that goes on to something else.
// The code is that with which doctor would end.
func Checks(ctx context.Context, a *program.Invocation, c settings.Config) (all []result.Check, code int, err error) {
	d, err := Run(ctx, a, c)
	for _, f := range d.Findings {
		all = append(all, result.Check{Name: f.Check, Status: f.Status, Summary: f.Summary, Advice: f.Advice})
	}
	return all, exit.Code(Verdict(d)), err
}

// The bytes that are written over each link, and the copies that are timed.
const (
	pairBytes          = 64 << 20
	pairCopies         = 5
	simulatedPairBytes = 16 << 10
)

// lackOfGPUs says why there are no GPUs to check, unless the simulator is asked for.
func lackOfGPUs(c settings.Config) error {
	if c.Device == "sim" {
		return nil
	}
	_, err := host.GPUs()
	return err
}

// planPairs plans the check of all pairs.
func planPairs(c settings.Config, inject []workload.Injection) (*session.Run, error) {
	m, err := host.Find(c, host.GPUs)
	if err != nil {
		return nil, err
	}
	c.Explain, c.Timing = false, false // they are for collectives
	job := workload.Job{
		Pairs: true, Sizes: []int64{pairBytes}, Iterations: pairCopies,
		Seed: c.Seed, P2P: c.P2P, Symm: c.Symm, Timeout: time.Duration(c.Timeout), Inject: inject,
	}
	if m.Backend == "sim" {
		job.Sizes[0], job.PairsTogether = simulatedPairBytes, true
	}
	if err := job.Check(m.Ranks); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	return &session.Run{Config: c, Job: job, Host: m}, nil
}
