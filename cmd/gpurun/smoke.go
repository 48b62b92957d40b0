package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/smoke"
	"gpurun/kernels"
	"gpurun/kernels/kernelfile"
	"gpurun/worker/result"
)

const smokeLong = `smoke checks a machine with GPUs in one command, for CI runners. It runs the checks of
gpurun doctor. Then it runs every collective with a small, a medium and a large size and
several types, and verifies every element. Speeds are compared with the thresholds that
gpurun has for these GPUs. After the collectives, the kernels of kernel files are verified.
The last line is the verdict: PASS, or FAIL with the reason.

Without a GPU smoke fails, unless --device sim asks for the simulator. There, and for GPUs
without built-in thresholds, only the data decide the verdict, and smoke says so.

Exit codes: 0 passed; 2 usage; 128+n ended by signal n; else the worst of, in this order:
220 a GPU failed; 1 wrong data; 4 timeout; 5 a worker died; 6 the ranks did not meet; 3 the
machine lacks a GPU, a driver or a library; 99 right, but a threshold was missed.`

const smokeExample = `  gpurun smoke --require-gpu --junit smoke.xml
  gpurun --nproc-per-node 4 smoke --quick
  gpurun smoke --min-busbw 'allreduce@>=64M:300,allgather@>=64M:280'
  gpurun --device sim --nproc-per-node 4 smoke         without a GPU
  gpurun smoke mine.toml                               and a kernel of yours
  gpurun smoke --inject corrupt:rank=1,byte=0          inject a fault`

const smokeCommand = "smoke"

func newSmokeCommand(a *program.Invocation) *cobra.Command {
	var system *string
	cmd := &cobra.Command{
		Use:     smokeCommand + " [KERNEL FILE...]",
		Short:   "Check this machine: are all collectives right, and fast enough? PASS or FAIL",
		Long:    smokeLong,
		Example: smokeExample,
		Args: func(_ *cobra.Command, words []string) error {
			for _, word := range words {
				if _, ok := kernels.Find(word); ok {
					return exit.Usagef("smoke runs all collectives, and takes kernel files: write gpurun %s to verify this one", word)
				}
				if !kernelfile.IsPath(word) {
					return exit.Usagef("smoke takes kernel files, such as oneshot.toml, and %q is none", word)
				}
			}
			return nil
		},
		ValidArgsFunction: completeKernelFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			return outcome.Annotated(a, smoke.Title, a.Guarded(func() error {
				told, err := newVerdictReporter(*system)
				if err != nil {
					return err
				}
				return told.report(cmd.Context(), a.Err, runSmoke(cmd, a, files, told))
			}))
		},
	}
	takeOneMachine(cmd)
	showDefaultsOf(cmd, smoke.PlanOptions())
	smoke.AddFlags(cmd.Flags())
	system = cmd.Flags().String("report", "", "`system` to which the verdict is reported: nvsentinel, over the "+
		"socket that PLATFORM_CONNECTOR_SOCKET names")
	return cmd
}

// runSmoke plans the check and runs it. A simulator's verdict is none on the machine, and is reported to nobody.
func runSmoke(cmd *cobra.Command, a *program.Invocation, files []string, told verdictReporter) error {
	r, err := smoke.Plan(cmd.Context(), cmd.Flags(), doctor.Checks, files)
	if exit.Code(err) == exit.Environment { // the verdict is about the machine, also where nothing can run
		if smoke.AsksJSON(cmd.Flags()) {
			err = cmp.Or(result.WriteJSON(a.Out, outcome.NotBegun(a, err)), err)
		} else {
			fmt.Fprintf(a.Out, "FAIL: %v\n", err)
		}
	}
	if err != nil {
		return outcome.Unable(a, smoke.Title, cmd.Flags(), err)
	}
	if told.to != nil && r.Simulated() {
		return usageError(exit.Usagef("--report is about this machine's GPUs, and --device sim uses none of them"), cmd)
	}
	return smoke.Show(cmd.Context(), a, r)
}
