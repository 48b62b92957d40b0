package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/examine"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/smoke"
)

const smokeLong = `smoke is the job of a CI runner with GPUs in one command. It looks at the machine,
then runs every collective with a small, a medium and a large size and several
types, verifies every element, holds the speed against the thresholds that are
known for these GPUs, and ends with one verdict: PASS, or FAIL and why.

Where no thresholds are known for the GPUs, and in the simulator, it says so, and the
verdict is about the answers alone.

Exit codes: 0 all is well; 2 usage; 128+n signal n; else, the worst first: 1 wrong data;
4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 3 the machine lacks
something; 99 right but too slow for a threshold.`

const smokeExample = `  gpurun smoke --require-gpu --junit smoke.xml
  gpurun --nproc-per-node 4 smoke --quick
  gpurun smoke --min-busbw 'allreduce@>=64M:300,allgather@>=64M:280'
  gpurun --device sim --nproc-per-node 4 smoke         see it work without a GPU
  gpurun smoke --inject corrupt:rank=1,byte=0          see it fail`

const smokeCommand = "smoke"

func newSmokeCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     smokeCommand,
		Short:   "Check this machine: every collective, verified and fast enough, one verdict",
		Long:    smokeLong,
		Example: smokeExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(cmd, a, smoke.Title, func() (*smoke.Run, error) {
				r, err := smoke.Plan(cmd.Context(), cmd.Flags(), examine.Checks)
				if exit.Code(err) == exit.Environment { // the verdict is about the machine, also where nothing can run
					fmt.Fprintf(a.Out, "FAIL: %v\n", err)
				}
				return r, err
			}, smoke.Show)
		},
	}
	smoke.AddFlags(cmd.Flags())
	return cmd
}
