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
	"gpurun/configs"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
)

func newProductCommand(a *program.Invocation, what *matmul.Operation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Run and verify " + what.Name + ": " + what.Summary,
		Long:    productLong(what),
		Example: strings.Join(productExamples(what), "\n"),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(cmd, a, "gpurun "+what.Name, func() (*plan.Product, error) { return planProductRun(cmd, what) }, showProducts)
		},
	}
	flags.AddProduct(cmd.Flags())
	flags.AddInject(cmd.Flags())
	return cmd
}

// productShape says what each rank has and gets.
func productShape(what *matmul.Operation) string {
	switch {
	case what.Gathers:
		return "Every rank has M/ranks rows of A, and a B of its own. It gets all of A, and C = A x B."
	case what.Scatters:
		return "Every rank has an A and a B of its own. It gets M/ranks rows of the sum of all A x B."
	}
	return "Every rank has an A and a B of its own, and gets the sum of all A x B."
}

func productLong(what *matmul.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s. %s\n", what.Name, what.Summary, productShape(what))
	b.WriteString(`A is M x K and lies by rows, B is K x N and lies by columns, as the weight of a linear
layer does. Elements are bfloat16 or half, and are accumulated in fp32.

Every element of every rank is compared: before timing with small integers, whose
product is known to the bit, and after it with random numbers, by a bound for each
element and by the norm of the error, which is printed. What is too large for the
processor is worked out by a naive kernel, of which samples are confirmed.

Algorithms:
`)
	for _, algorithm := range what.Algorithms {
		fmt.Fprintf(&b, "  %-16s %s\n", algorithm.Name, algorithm.Summary)
	}
	b.WriteString(`
The times printed are of the slowest rank; the first is the median. TFLOP/s are those
of each rank.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 128+n signal n.`)
	return b.String()
}

func productExamples(what *matmul.Operation) []string {
	return []string{
		"  gpurun --nproc-per-node 4 " + what.Name + " -m 4096 -n 6656 -k 16384 -d bfloat16",
		"  gpurun " + what.Name + " -m 1024,2048,4096,8192 --algo all -J results.json",
		"  gpurun bench " + what.Name + " --against decomposed",
		"  gpurun --device sim " + what.Name + " --inject corrupt:rank=0,byte=8      see it fail",
	}
}

// productPurpose is what sets products apart from collectives.
func productPurpose() plan.Purpose { return plan.Purpose{Profiles: [][]byte{configs.Products}} }

func planProductRun(cmd *cobra.Command, what *matmul.Operation) (*plan.Product, error) {
	inject, err := flags.Injections(cmd.Flags())
	if err != nil {
		return nil, err
	}
	return plan.NewProduct(cmd.Context(), cmd.Flags(), what, productPurpose(), inject)
}

// showProducts prints the results as they come.
func showProducts(ctx context.Context, a *program.Invocation, p *plan.Product) error {
	return p.Show(ctx, a, session.Show{Title: "gpurun " + p.What.Name, Renderer: func(stdout io.Writer) (result.Renderer, error) {
		return result.NewProductRenderer(result.Format(p.Config.Output), stdout)
	}})
}
