package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker"
	"gpurun/worker/result"
)

const doctorLong = `doctor looks at the driver, the GPUs and how they are connected, the limits of a
container, and the libraries that gpurun can use. Then one process per GPU
writes to the memory of every other GPU, both read it, one pair at a time, and the
link is measured. Every finding is OK, WARN or FAIL, with what to do.

Without a GPU it says what is missing. With --device sim the check of all pairs
runs in the simulator, for all ranks at a time.

Exit codes: 0 nothing failed; 1 a link carries wrong data; 2 usage; 3 something
failed, or there is no GPU and --require-gpu; 128+n signal n.`

const doctorExample = `  gpurun doctor
  gpurun doctor --json | jq '.findings[] | select(.status != "OK")'
  gpurun --device sim --nproc-per-node 4 doctor`

const doctorTitle = "gpurun doctor"

func newDoctorCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Examine driver, GPUs, links, container and libraries, and say what to do",
		Long:    doctorLong,
		Example: doctorExample,
		Args:    noArguments,
	}
	flags.AddOnly(cmd.Flags(), "timeout", "seed", "sim-seed", "p2p", "symm", "nccl-lib", "nvshmem-lib", "cublas-lib", "output")
	cmd.Flags().Lookup("output").Usage = "`form` of the diagnosis: table or json"
	asJSON := cmd.Flags().Bool("json", false, "print the diagnosis as JSON, as --output json does")
	flags.AddInject(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, c, inject, err := planDoctor(cmd)
		if err != nil {
			return outcome.Annotated(a, doctorTitle, err)
		}
		if *asJSON {
			c.Output = "json"
		}
		return outcome.Annotated(a, doctorTitle, a.Guarded(func() error {
			return s.Blamed(runDoctor(cmd.Context(), a, c, inject))
		}))
	}
	return cmd
}

// planDoctor reads what the command is told.
func planDoctor(cmd *cobra.Command) (s *settings.Sources, c settings.Config, inject []worker.Injection, err error) {
	if inject, err = flags.Injections(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if s, err = settings.Load(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if c, err = s.Config(); err != nil {
		return nil, c, nil, err
	}
	if err := s.RefuseNodes(c, cmd.Name()); err != nil {
		return nil, c, nil, hinted(err, cmd)
	}
	if forms := []string{"table", "json"}; !slices.Contains(forms, c.Output) {
		return nil, c, nil, s.Blame("output", phrase.Unknown("form of a diagnosis", c.Output, forms))
	}
	return s, c, inject, nil
}

// runDoctor prints a diagnosis and decides the exit code.
func runDoctor(ctx context.Context, a *program.Invocation, c settings.Config, inject []worker.Injection) error {
	d, err := examine(ctx, a, c, inject...)
	if err != nil {
		return err
	}
	write := d.Write
	if c.Output == "json" {
		write = d.JSON
	}
	if err := write(a.Out); err != nil {
		return err
	}
	return verdict(d)
}

// verdict is the exit code of a diagnosis, and what has failed.
func verdict(d doctor.Diagnosis) error {
	if d.Worst() != doctor.Fail {
		return nil
	}
	code := exit.Environment
	if d.WrongData() {
		code = exit.WrongData
	}
	var failed []string
	for _, f := range d.Findings {
		if f.Status == doctor.Fail {
			failed = append(failed, f.Check+": "+f.Summary)
		}
	}
	return &exit.Error{Code: code, Said: strings.Join(failed, "\n")}
}

// examine looks at the machine and, where it has GPUs or c asks for the simulator,
// checks every pair of them, with failures made on purpose if any. It must be
// called in the agent; see guarded. What is wrong with the machine is a finding
// and no error.
func examine(ctx context.Context, a *program.Invocation, c settings.Config, inject ...worker.Injection) (doctor.Diagnosis, error) {
	sources := doctorSources(c)
	if none := lackOfGPUs(c); none != nil {
		if len(inject) > 0 {
			return doctor.Diagnosis{}, exit.Usagef("--inject makes a failure in the check of pairs, and there are no GPUs to check: add --device sim")
		}
		d := doctor.Examine(sources)
		if sources.RequireGPU || !errors.Is(none, cudart.ErrNoDevice) {
			d.AddNoGPU(none)
		}
		return d, nil
	}
	run, err := planPairs(c, inject)
	if err != nil {
		return doctor.Diagnosis{}, err
	}
	d := doctor.Examine(sources)
	progress := session.NewProgress(a.Err)
	defer progress.Clear()
	report, err := run.Measure(ctx, a, nil, progress)
	if report.ExitCode > exit.Signalled {
		return d, err
	}
	d.AddPairs(report, run.Job.Sizes[0], c.P2P == settings.Off || c.Symm == string(symm.Host))
	return d, nil
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
	_, err := machine.GPUs()
	return err
}

// planPairs plans the check of all pairs.
func planPairs(c settings.Config, inject []worker.Injection) (*session.Run, error) {
	m, err := machine.Find(c, machine.GPUs)
	if err != nil {
		return nil, err
	}
	c.Explain, c.Timing = false, false // they are for collectives
	job := worker.Job{
		Pairs: true, Sizes: []int64{pairBytes}, Iterations: pairCopies,
		Seed: c.Seed, P2P: c.P2P, Symm: c.Symm, Timeout: time.Duration(c.Timeout), Inject: inject,
	}
	if m.Backend == "sim" {
		job.Sizes[0], job.PairsTogether = simulatedPairBytes, true
	}
	if err := job.Check(m.Ranks); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	return &session.Run{Config: c, Job: job, Machine: m}, nil
}

// checks examines the machine for a command that goes on to something else.
// The code is that with which doctor would end.
func checks(ctx context.Context, a *program.Invocation, c settings.Config) (all []result.Check, code int, err error) {
	d, err := examine(ctx, a, c)
	for _, f := range d.Findings {
		all = append(all, result.Check{Name: f.Check, Status: f.Status, Summary: f.Summary, Advice: f.Advice})
	}
	return all, exit.Code(verdict(d)), err
}
