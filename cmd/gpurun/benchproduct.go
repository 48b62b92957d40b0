package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/matmul"
	"gpurun/worker/bench"
	"gpurun/worker/result"
)

// productBench is algorithms for products that are about to be measured side by side.
type productBench struct {
	*productRun
	against string
}

// newProductBenchCommand makes the command below bench: products have flags of their own.
func newProductBenchCommand(a *program.Invocation, what *matmul.Operation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Measure algorithms of " + what.Name + " side by side",
		Long:    benchProductLong,
		Example: "  gpurun --nproc-per-node 4 bench " + what.Name + " -m 4096 -n 6656 -k 16384 --against decomposed",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			title := "gpurun " + benchCommand + " " + what.Name
			return annotated(a, title, a.Guarded(func() error {
				b, err := planProductBench(cmd, what)
				if err != nil {
					return unable(a, title, cmd, err)
				}
				return b.run(cmd.Context(), a, title)
			}))
		},
	}
	flags.AddProduct(cmd.Flags())
	cmd.Flags().Lookup("iters").Usage = "`number` of calls that are timed together"
	cmd.Flags().String("rounds", "", "`number` of times that every algorithm is timed, taking turns")
	cmd.Flags().String("against", "", "`algorithm` that ratios are to; without this flag the first")
	return cmd
}

const benchProductLong = `In every round each algorithm is timed once, in an order that changes, so that whatever
drifts hits all alike. Every algorithm is verified before and after. A sample is the time of
--iters calls over their number, on the slowest rank of the round. Medians have intervals of 95%
confidence; a ratio is marked with ~ where the difference may be chance (Mann-Whitney U, p >= 0.05).
With --algo all, naive is left out, which takes far longer.`

// planProductBench checks everything that can be checked beforehand.
func planProductBench(cmd *cobra.Command, what *matmul.Operation) (*productBench, error) {
	p, err := planProductRun(cmd, what, true)
	if err != nil {
		return nil, err
	}
	b := &productBench{p, p.config.Against}
	if slices.Contains(p.config.Algo, settings.All) && len(p.job.Algorithms) > 1 && !slices.Contains(p.config.Algo, naive) {
		p.job.Algorithms = slices.DeleteFunc(p.job.Algorithms, func(name string) bool { return name == naive })
	}
	switch names := p.job.Algorithms; {
	case b.against == "":
		b.against = names[0]
	case !slices.Contains(names, b.against):
		return nil, p.settings.Blame("against", fmt.Errorf("%s is not measured; %s can be, or add it to --algo", b.against, phrase.OrList(names)))
	}
	return b, nil
}

// run measures, and prints the table as it grows.
func (b *productBench) run(ctx context.Context, a *program.Invocation, title string) error {
	progress := newProgress(a.Err)
	defer progress.clear()
	format := result.Format(b.config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return b.productRun.run(ctx, a)
	}
	table := bench.NewTable(progress.beside(a.Out), bench.Options{
		Against: b.against, Rounds: b.job.Rounds, Iterations: b.job.Iterations,
		Markdown: format == result.MarkdownFormat, Products: true,
	})
	return b.runWith(ctx, a, title, table, progress)
}
