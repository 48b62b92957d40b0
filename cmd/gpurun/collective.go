package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/configs"
	"gpurun/kernels/collective"
	"gpurun/worker"
	"gpurun/worker/result"
)

func newCollectiveCommand(a *app, what *collective.Collective) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Run and verify " + what.Name + ": " + what.Summary,
		Long:    collectiveLong(what),
		Example: fmt.Sprintf(`  gpurun %[1]s -b 8 -e 128M -f 2
  gpurun --nproc-per-node 4 %[1]s -d half,bfloat16 --algo all -J results.json
  gpurun %[1]s -b 28 -e 28 -n 100 -G 10                         small calls, replayed from a graph
  gpurun --device sim %[1]s --inject corrupt:rank=1,byte=4097   see it fail`, what.Name),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCollective(cmd, a, what) },
	}
	addSweepFlags(cmd.Flags(), what)
	return cmd
}

func collectiveLong(what *collective.Collective) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s. Every size runs out of place and in place; every\nelement of every rank is compared before and after timing.\n\nAlgorithms:\n", what.Name, what.Summary)
	for _, algorithm := range what.Algorithms {
		fmt.Fprintf(&b, "  %-16s %s\n", algorithm.Name, algorithm.Summary)
	}
	b.WriteString(`
The times printed are medians, of the slowest rank.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 128+n signal n.`)
	return b.String()
}

// runCollective checks everything that can be checked beforehand, and then
// runs the collective in the agent.
func runCollective(cmd *cobra.Command, a *app, what *collective.Collective) error {
	p, err := planRun(cmd, what)
	if err != nil {
		return err
	}
	return a.guarded(func() error { return p.run(cmd.Context(), a) })
}

// planRun decides what runs where.
func planRun(cmd *cobra.Command, what *collective.Collective) (*collectiveRun, error) {
	texts, err := cmd.Flags().GetStringArray("inject")
	if err != nil {
		return nil, err
	}
	inject, err := parseInjections(texts)
	if err != nil {
		return nil, err
	}
	p, err := planRunOf(cmd, what, inject)
	if err != nil {
		return nil, err
	}
	if file := p.config.OutputFile; file != "" {
		if err := result.CheckFile(file); err != nil {
			return nil, &usageError{err: err}
		}
	}
	return p, nil
}

// planRunOf plans a collective for any command. The profiles change defaults.
// Errors of usage come before those of the machine.
func planRunOf(cmd *cobra.Command, what *collective.Collective, inject []worker.Injection, profiles ...[]byte) (*collectiveRun, error) {
	p := &collectiveRun{what: what}
	if err := p.plan(cmd, inject, profiles...); err != nil {
		return nil, err
	}
	var err error
	if p.machine, err = findMachine(p.config); err != nil {
		return nil, err
	}
	if p.machine.backend == "sim" {
		if err := p.plan(cmd, inject, append(profiles, configs.Simulator)...); err != nil {
			return nil, err
		}
	}
	if err := p.leaveOut(); err != nil {
		return nil, err
	}
	return p, checkJob(p.job, p.machine.ranks)
}

// plan turns flags, environment and file into the job.
func (p *collectiveRun) plan(cmd *cobra.Command, inject []worker.Injection, profiles ...[]byte) error {
	settings, err := loadSettings(cmd, profiles...)
	if err != nil {
		return err
	}
	if p.config, err = settings.config(); err != nil {
		return err
	}
	p.job, err = settings.job(p.config, p.what, inject)
	return err
}
