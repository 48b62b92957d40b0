package bench

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/configs"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
)

// Product is algorithms for products that are about to be measured side by side.
type Product struct {
	*plan.ProductRun
	against string
}

// AddProductFlags adds the flags of a measurement of products.
func AddProductFlags(f *pflag.FlagSet) {
	flags.AddProduct(f, "minutes")
	f.Lookup("iters").Usage = "`number` of calls in a sample"
	f.String("rounds", "", "`number` of passes; a pass takes one sample of every algorithm")
	f.String("against", "", "`algorithm` that ratios are relative to; default: the first")
}

// PlanProduct is Plan for products.
func PlanProduct(ctx context.Context, f *pflag.FlagSet, what *matmul.Operation, notify func(string)) (*Product, error) {
	o := ProductPlanOptions()
	o.Notify = notify
	p, err := plan.NewProduct(ctx, f, what, o, nil)
	if err != nil {
		return nil, err
	}
	p.Job.Passes = p.Config.Rounds
	b := &Product{p, p.Config.Against}
	dropNaive(&p.Run)
	switch names := p.Job.Algorithms; {
	case b.against == "":
		b.against = names[0]
	case !slices.Contains(names, b.against):
		return nil, p.Sources.Invalid("against",
			fmt.Errorf("%s is not measured; use %s, or add it to --algo", b.against, suggest.OrList(names)))
	}
	return b, nil
}

// ProductPlanOptions is PlanOptions for products.
func ProductPlanOptions() plan.Options {
	return plan.Options{
		Profiles:          [][]byte{configs.Bench, configs.Products, configs.BenchProducts},
		SimulatorProfiles: [][]byte{configs.BenchProductsSimulator}, OneHost: oneHost,
	}
}

// ShowProduct measures, and prints the table as it grows.
func ShowProduct(ctx context.Context, a *program.Invocation, b *Product) error {
	return b.Show(ctx, a, session.Show{
		Title:    Title + " " + b.Operation.Name,
		Renderer: func(w io.Writer) (result.Renderer, error) { return b.renderer(a.Out, w) },
	})
}

func (b *Product) renderer(out, w io.Writer) (result.Renderer, error) {
	format := result.Format(b.Config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewProductRenderer(format, w)
	}
	w, width := terminal.Results(out, w)
	return bench.NewTable(w, bench.Options{
		Against: b.against, Passes: b.Job.Passes, Iterations: b.Job.Iterations,
		Markdown: format == result.MarkdownFormat, Products: true, Width: width,
	}), nil
}
