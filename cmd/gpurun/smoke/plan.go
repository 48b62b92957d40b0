// Package smoke checks this machine: every collective, verified and fast enough, one verdict.
package smoke

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
	"gpurun/worker/result"
	"gpurun/worker/result/gate"
)

// Title names the check in CI systems.
const Title = "gpurun smoke"

const quickFlag, jsonFlag = "quick", "json"

// AddFlags adds the flags of the check.
func AddFlags(f *pflag.FlagSet) {
	flags.AddOnly(f, "timeout", "output-file", "min-busbw", "max-latency", "profile", "junit", "prometheus",
		"html",
		"p2p", "multicast", "symm", "nccl-lib", "nvshmem-lib")
	f.StringArray("inject", nil, "inject a `fault` into the first collective, as for gpurun allreduce")
	f.Bool(quickFlag, false, "run only the first element type")
	f.Bool(jsonFlag, false, "write the results as JSON in place of the table; the verdict goes to standard error")
}

// Examiner looks at the machine before anything runs on it.
type Examiner func(context.Context, *program.Invocation, settings.Config) (checks []result.Check, code int, err error)

// Run is a check of the machine that is about to begin.
type Run struct {
	config  settings.Config
	examine Examiner // nil: there is none
	runs    []namedRun
	gate    gate.Plan
	json    bool // in place of the table
}

// namedRun is the run of a collective, or of the kernel file with that path.
type namedRun struct {
	name  string
	calls int // that it verifies
	*plan.CollectiveRun
}

// AsksJSON reports whether the flags ask for JSON.
func AsksJSON(f *pflag.FlagSet) bool {
	asked, err := f.GetBool(jsonFlag)
	return err == nil && asked
}

// Simulated reports whether the simulator stands for GPUs.
func (s *Run) Simulated() bool { return s.runs[0].Host.Backend == "sim" }

// Plan makes runs of all collectives as smoke's flags say, and checks everything that can be
// checked beforehand. With a nil Examiner the machine is not looked at. kernelFiles are paths of kernel files, each of
// which is run as well.
func Plan(ctx context.Context, f *pflag.FlagSet, examine Examiner, kernelFiles []string) (*Run, error) {
	quick, err := f.GetBool(quickFlag)
	if err != nil {
		return nil, err
	}
	inject, err := flags.Injections(f)
	if err != nil {
		return nil, err
	}
	told, err := settings.Load(f, configs.Smoke)
	if err != nil {
		return nil, err
	}
	s := &Run{examine: examine, json: AsksJSON(f)}
	if s.config, err = settings.Read(told); err != nil {
		return nil, err
	}
	if s.gate, err = plan.Thresholds(told, s.config); err != nil {
		return nil, err
	}
	if err := settings.CheckFiles(s.config.Outputs(), append(kernelFiles, told.File())...); err != nil {
		return nil, err
	}
	o := PlanOptions()
	o.Override, o.ListGPUs = override(quick), sync.OnceValues(host.GPUs)
	if err := s.requireDevices(o.ListGPUs); err != nil {
		return nil, err
	}
	for i, what := range kernels.Collectives() {
		p, err := plan.NewCollective(ctx, f, what, o, inject)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			p.Host.Notice = "" // it is said once
		}
		inject = nil
		if err := s.add(what.Name, p); err != nil {
			return nil, err
		}
	}
	for _, path := range kernelFiles {
		p, err := planFile(ctx, f, path, o)
		if err != nil {
			return nil, err
		}
		if err := s.add(path, p); err != nil {
			return nil, err
		}
		if err := settings.CheckFiles(s.config.Outputs(), p.Inputs()...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add adds a run.
func (s *Run) add(name string, p *plan.CollectiveRun) error {
	planned, err := p.Job.Plan(p.World())
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	s.runs = append(s.runs, namedRun{name, planned.Requested(), p})
	return nil
}

// requireDevices refuses a machine without GPUs, unless the simulator is asked for: a container that
// has lost its GPUs must not pass.
func (s *Run) requireDevices(list host.Lister) error {
	if s.config.Device != settings.Auto || s.config.RequireGPU { // package host judges these
		return nil
	}
	_, err := list()
	if !errors.Is(err, cudart.ErrNoDevice) {
		return nil
	}
	return &exit.EnvironmentError{Err: fmt.Errorf("smoke needs a GPU and there is none: %s; "+
		"--device sim checks the collectives in the simulator", host.WhyNoGPU(err))}
}

// planFile makes a run of a kernel file, with its first type and operation.
func planFile(ctx context.Context, f *pflag.FlagSet, path string, o plan.Options) (*plan.CollectiveRun, error) {
	file, _, err := kernelcode.Read(path)
	if err != nil {
		return nil, err
	}
	what, ok := kernels.Find(file.Collective)
	switch {
	case file.Collective == kernelfile.Custom:
		if what, err = userkernel.Custom(nil); err != nil {
			return nil, err
		}
	case !ok:
		return nil, exit.Usagef("smoke runs collectives, and %s is for %s: run gpurun kernel %s", path, file.Collective, path)
	}
	collectives := o.Override
	o.Override = func(c *settings.Config) {
		collectives(c)
		c.Algo, c.DataType = []string{path}, file.Types[:1]
		if what.Shape.Reduces {
			c.Op = file.Ops[:1]
		}
	}
	p, err := plan.NewCollective(ctx, f, what, o, nil)
	if err != nil {
		return nil, err
	}
	p.Host.Notice = ""
	return p, nil
}

// PlanOptions is what sets the collectives of a check apart from usual runs, but for --quick.
func PlanOptions() plan.Options {
	return plan.Options{
		Profiles: [][]byte{configs.Smoke}, SimulatorProfiles: [][]byte{configs.SmokeSimulator}, Override: override(false),
		OneHost: "smoke checks one machine; run it on each",
	}
}

// override keeps what a configuration says about usual runs out of smoke's:
// they verify plain calls, and the files are about all of them.
func override(quick bool) func(*settings.Config) {
	return func(c *settings.Config) {
		c.Algo, c.Op, c.Epilogue = []string{settings.Auto}, []string{string(collective.Sum)}, []string{settings.None}
		c.Check, c.CUDAGraph, c.RunCycles, c.Unaligned, c.Root = 1, 0, 1, false, 0
		c.Blocks, c.Explain, c.Timing = 0, false, false
		if quick {
			c.DataType = c.DataType[:1]
		}
	}
}
