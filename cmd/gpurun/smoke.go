package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/worker/gate"
	"gpurun/worker/result"
)

const smokeLong = `smoke is the job of a CI runner with GPUs in one command. It looks at the machine,
then runs every collective with a small, a medium and a large size and several
types, verifies every element, holds the speed against the thresholds that are
known for these GPUs, and ends with one verdict: PASS, or FAIL and why.

Where no thresholds are known for the GPUs, and in the simulator, it says so, and the
verdict is about the answers alone.

Exit codes, the worst first: 1 wrong data; 4 timeout or hang; 5 a worker died; 6 the
ranks did not meet; 3 the machine lacks something; 99 right but too slow for a threshold.`

const smokeExample = `  gpurun smoke --require-gpu --junit smoke.xml
  gpurun --nproc-per-node 4 smoke --quick
  gpurun smoke --min-busbw 'allreduce@>=64M:300,allgather@>=64M:280'
  gpurun --device sim --nproc-per-node 4 smoke         see it work without a GPU
  gpurun smoke --inject corrupt:rank=1,byte=0          see it fail`

const (
	smokeCommand = "smoke"
	smokeTitle   = "gpurun " + smokeCommand
	quickFlag    = "quick"
)

// examiner looks at the machine before anything runs on it.
type examiner func(context.Context, *program.Invocation, settings.Config) (checks []result.Check, code int, err error)

// newSmokeCommand makes the command. Without an examiner nothing is looked at
// beforehand.
func newSmokeCommand(a *program.Invocation, examine examiner) *cobra.Command {
	cmd := &cobra.Command{
		Use:     smokeCommand,
		Short:   "Check this machine: every collective, verified and fast enough, one verdict",
		Long:    smokeLong,
		Example: smokeExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(cmd, a, smokeTitle, func() (*smokeRun, error) { return planSmoke(cmd, examine) }, showSmoke)
		},
	}
	flags.AddOnly(cmd.Flags(), "timeout", "output-file", "min-busbw", "max-latency", "profile", "junit", "prometheus",
		"p2p", "multicast", "symm", "nccl-lib", "nvshmem-lib")
	cmd.Flags().StringArray("inject", nil, "make a `failure` in the first collective, to see it noticed, as collectives do")
	cmd.Flags().Bool(quickFlag, false, "run only the first of the types")
	return cmd
}

// smokeRun is a check of the machine that is about to begin.
type smokeRun struct {
	config  settings.Config
	examine examiner // nil: there is none
	runs    []*plan.Collective
	gate    gate.Plan
}

// planSmoke checks everything that can be checked beforehand.
func planSmoke(cmd *cobra.Command, examine examiner) (*smokeRun, error) {
	quick, err := cmd.Flags().GetBool(quickFlag)
	if err != nil {
		return nil, err
	}
	inject, err := flags.Injections(cmd.Flags())
	if err != nil {
		return nil, err
	}
	sources, err := settings.Load(cmd.Flags(), configs.Smoke)
	if err != nil {
		return nil, err
	}
	s := &smokeRun{examine: examine}
	if s.config, err = sources.Config(); err != nil {
		return nil, err
	}
	if s.gate, err = sources.Thresholds(s.config); err != nil {
		return nil, err
	}
	if err := s.config.CheckFiles(); err != nil {
		return nil, err
	}
	why := plan.Purpose{
		Profiles: [][]byte{configs.Smoke}, Simulator: [][]byte{configs.SmokeSimulator}, Force: forceSmoke(quick),
		OneMachine: "smoke checks one machine; run it on each", List: sync.OnceValues(machine.GPUs),
	}
	for i, what := range kernels.Collectives() {
		p, err := plan.NewCollective(cmd.Context(), cmd.Flags(), what, why, inject)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			p.Machine.Notice = "" // it is said once
		}
		inject = nil
		s.runs = append(s.runs, p)
	}
	return s, nil
}

// forceSmoke keeps what a configuration says about usual runs out of smoke's:
// they verify plain calls, and the files are about all of them.
func forceSmoke(quick bool) func(*settings.Config) {
	return func(c *settings.Config) {
		c.Algo, c.Op, c.Epilogue = []string{settings.Auto}, []string{string(collective.Sum)}, settings.None
		c.Check, c.CUDAGraph, c.RunCycles, c.Unaligned, c.Root, c.Blocks, c.Explain, c.Timing = 1, 0, 1, false, 0, 0, false, false
		if quick {
			c.DataType = c.DataType[:1]
		}
	}
}
