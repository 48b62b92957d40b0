package bench

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/configs"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
)

// Product is algorithms for products that are about to be measured side by side.
type Product struct {
	*plan.Product
	against string
}

// AddProductFlags adds the flags of a measurement of products.
func AddProductFlags(f *pflag.FlagSet) {
	flags.AddProduct(f)
	f.Lookup("iters").Usage = "`number` of calls that are timed together"
	f.String("rounds", "", "`number` of times that every algorithm is timed, taking turns")
	f.String("against", "", "`algorithm` that ratios are to; without this flag the first")
}

// PlanProduct is Plan for products.
func PlanProduct(ctx context.Context, f *pflag.FlagSet, what *matmul.Operation) (*Product, error) {
	p, err := plan.NewProduct(ctx, f, what, ProductPurpose(), nil)
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
		return nil, p.Sources.Blame("against", fmt.Errorf("%s is not measured; %s can be, or add it to --algo", b.against, phrase.OrList(names)))
	}
	return b, nil
}

// ProductPurpose is Purpose for products.
func ProductPurpose() plan.Purpose {
	return plan.Purpose{
		Profiles:  [][]byte{configs.Bench, configs.Products, configs.BenchProducts},
		Simulator: [][]byte{configs.BenchProductsSimulator},
	}
}

// ShowProduct measures, and prints the table as it grows.
func ShowProduct(ctx context.Context, a *program.Invocation, b *Product) error {
	return b.Show(ctx, a, session.Show{Title: Title + " " + b.What.Name, Renderer: b.renderer})
}

func (b *Product) renderer(stdout io.Writer) (result.Renderer, error) {
	format := result.Format(b.Config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewProductRenderer(format, stdout)
	}
	return bench.NewTable(stdout, bench.Options{
		Against: b.against, Rounds: b.Job.Passes, Iterations: b.Job.Iterations,
		Markdown: format == result.MarkdownFormat, Products: true,
	}), nil
}
