package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/matmul"
	"gpurun/worker/bench"
	"gpurun/worker/result"
)

// productBench is algorithms for products that are about to be measured side by side.
type productBench struct {
	*plan.Product
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
			return perform(cmd, a, title, func() (*productBench, error) { return planProductBench(cmd, what) }, showProductBench)
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
	p, err := plan.NewProduct(cmd.Context(), cmd.Flags(), what, productBenchPurpose(), nil)
	if err != nil {
		return nil, err
	}
	p.Job.Rounds = p.Config.Rounds
	b := &productBench{p, p.Config.Against}
	if slices.Contains(p.Config.Algo, settings.All) && len(p.Job.Algorithms) > 1 && !slices.Contains(p.Config.Algo, plan.Naive) {
		p.Job.Algorithms = slices.DeleteFunc(p.Job.Algorithms, func(name string) bool { return name == plan.Naive })
	}
	switch names := p.Job.Algorithms; {
	case b.against == "":
		b.against = names[0]
	case !slices.Contains(names, b.against):
		return nil, p.Settings.Blame("against", fmt.Errorf("%s is not measured; %s can be, or add it to --algo", b.against, phrase.OrList(names)))
	}
	return b, nil
}

// productBenchPurpose changes the defaults further, to those of rounds.
func productBenchPurpose() plan.Purpose {
	return plan.Purpose{
		Profiles:  [][]byte{configs.Bench, configs.Products, configs.BenchProducts},
		Simulator: [][]byte{configs.BenchProductsSimulator},
	}
}

// showProductBench measures, and prints the table as it grows.
func showProductBench(ctx context.Context, a *program.Invocation, b *productBench) error {
	return b.Show(ctx, a, session.Show{Title: "gpurun " + benchCommand + " " + b.What.Name, Renderer: b.renderer})
}

func (b *productBench) renderer(stdout io.Writer) (result.Renderer, error) {
	format := result.Format(b.Config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewProductRenderer(format, stdout)
	}
	return bench.NewTable(stdout, bench.Options{
		Against: b.against, Rounds: b.Job.Rounds, Iterations: b.Job.Iterations,
		Markdown: format == result.MarkdownFormat, Products: true,
	}), nil
}
