package main

import (
	"context"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/check"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
)

const checkLong = `check looks for data races and deadlocks between GPUs, on a CPU. It runs the kernels of all
ranks in one process, under many schedules, and judges the order of all accesses by the
memory model of PTX. A finding names both accesses with their lines. Results are compared
with a reference, too.

Without a word, check runs all algorithms of all collectives and products. A word is a
collective, a product or a kernel file. The calls follow each other without a wait of the
host, so that a call that leaves too early races with the next one. A seed gives the same
schedules again, on any machine. Schedules are sampled: a clean report is no proof.

Exit codes: 0 nothing was found; 1 a finding; 4 a deadlock; 7 incomplete: something was not
checked, such as an instruction that check does not model; 2 usage; 3 environment.`

const checkExample = `  gpurun check allreduce
  gpurun check allreduce --algo oneshot --ranks 2,8 --schedules 1000
  gpurun check allgather-matmul --algo fused -m 512    a product of matrices
  gpurun check mine.toml --sizes 4K,1M                 a kernel of yours
  gpurun check --sarif findings.sarif --junit check.xml
  gpurun check --replay race-1.json                    the very same schedule again
  gpurun check --litmus mp.litmus                      what the memory model allows a litmus test`

const checkCommand = "check"

func newCheckCommand(a *program.Invocation) *cobra.Command {
	var o check.Options
	cmd := &cobra.Command{
		Use:     checkCommand + " [COLLECTIVE|PRODUCT|KERNEL FILE...]",
		Short:   "Find races and deadlocks between GPUs, on a CPU",
		Long:    checkLong,
		Example: checkExample,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return benchNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	takeLauncherFlags(cmd)
	o.Add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if err := o.Read(cmd.Flags()); err != nil {
			return usageError(err, cmd)
		}
		// A kernel file may run a command: it is guarded, so that nothing is left of it.
		return outcome.Annotated(a, check.Title, a.Guarded(func() error { return runCheck(cmd.Context(), a, &o, words) }))
	}
	return cmd
}

func runCheck(ctx context.Context, a *program.Invocation, o *check.Options, words []string) error {
	if o.Litmus.On {
		return check.ShowLitmus(a, o.Litmus, words)
	}
	if err := o.CheckFiles(words); err != nil {
		return err
	}
	if o.Replay != "" {
		if len(words) > 0 {
			return exit.Usagef("%q: with --replay, the file says what runs", words[0])
		}
		return check.ShowReplay(ctx, a, o, notify(a))
	}
	p, err := check.NewPlan(ctx, o, words, notify(a))
	if err != nil {
		return err
	}
	return check.Show(ctx, a, p)
}
