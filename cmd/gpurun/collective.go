package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/kernels/collective"
	"gpurun/worker/result"
)

func newCollectiveCommand(a *program.Invocation, what *collective.Collective) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Run and verify " + what.Name + ": " + what.Summary,
		Long:    collectiveLong(what),
		Example: strings.Join(collectiveExamples(what), "\n"),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(cmd, a, "gpurun "+what.Name, func() (*plan.Collective, error) { return planRun(cmd, what) }, showRun)
		},
	}
	flags.AddCollective(cmd.Flags(), what)
	return cmd
}

func collectiveLong(what *collective.Collective) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s. %s\n\nAlgorithms:\n", what.Name, what.Summary, howVerified(what.Shape))
	for _, algorithm := range what.Algorithms {
		fmt.Fprintf(&b, "  %-16s %s\n", algorithm.Name, algorithm.Summary)
	}
	b.WriteString(`
The times printed are medians, of the slowest rank.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 99 right but
too slow for a threshold; 128+n signal n.`)
	return b.String()
}

// howVerified says what a run proves.
func howVerified(s collective.Shape) string {
	const compared = "every\nelement of every rank is compared before and after timing."
	if s.Empty {
		return "Behind\nthe barrier every rank must find what all have written before it, also when one is late."
	}
	if _, _, _, ok := s.InPlace(0); !ok {
		return "Every size runs out of place; " + compared
	}
	return "Every size runs out of place and,\nwhere the algorithm can, in place; " + compared
}

func collectiveExamples(what *collective.Collective) []string {
	launcher, name := "  gpurun --nproc-per-node 4 "+what.Name, "  gpurun "+what.Name
	if what.Shape.Empty {
		return []string{name + " --algo all", launcher + " -n 100 -G 10", "  gpurun --device sim " + what.Name + " --inject hang:rank=1   see it fail"}
	}
	lines := []string{
		name + " -b 8 -e 128M -f 2",
		launcher + " -d half,bfloat16 --algo all -J results.json",
		name + " -b 28 -e 28 -n 100 -G 10                         small calls, replayed from a graph",
		name + " --explain                                        what auto takes, and why",
		"  gpurun --device sim " + what.Name + " --inject corrupt:rank=0,byte=8      see it fail",
	}
	if flags.HasEpilogues(what) {
		lines = append(lines, name+" -d bfloat16 --epilogue rmsnorm --hidden 8192")
	}
	return lines
}

// planRun plans a run whose results are held against thresholds.
func planRun(cmd *cobra.Command, what *collective.Collective) (*plan.Collective, error) {
	inject, err := flags.Injections(cmd.Flags())
	if err != nil {
		return nil, err
	}
	p, err := plan.NewCollective(cmd.Context(), cmd.Flags(), what, plan.Purpose{}, inject)
	if err != nil {
		return nil, err
	}
	return p, p.Judge()
}

// showRun prints the results as they come.
func showRun(ctx context.Context, a *program.Invocation, p *plan.Collective) error {
	return p.Show(ctx, a, session.Show{Title: "gpurun " + p.What.Name, Renderer: func(stdout io.Writer) (result.Renderer, error) {
		return result.NewRenderer(result.Format(p.Config.Output), stdout)
	}})
}
