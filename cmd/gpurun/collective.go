package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/configs"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
)

// newRunCommand makes a command that runs one collective or product, without its help, flags
// and action.
func newRunCommand(name string, aliases []string, summary string) *cobra.Command {
	short := strings.ToUpper(summary[:1]) + summary[1:]
	return &cobra.Command{Use: name, Aliases: aliases, Short: short, Args: noArguments}
}

func newCollectiveCommand(a *program.Invocation, what *collective.Collective) *cobra.Command {
	cmd := newRunCommand(what.Name, what.Aliases, what.Summary)
	cmd.Long, cmd.Example = collectiveLong(what), strings.Join(collectiveExamples(what), "\n")
	flags.AddCollective(cmd.Flags(), what)
	flags.AddJSON(cmd.Flags())
	flags.AddCompile(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		planRun := func() (*plan.Plan, error) {
			inject, err := flags.Injections(cmd.Flags())
			if err != nil {
				return nil, err
			}
			skew, err := flags.Skews(cmd.Flags())
			if err != nil {
				return nil, err
			}
			o := plan.Options{Notify: notify(a), Skew: skew, Further: true, Trace: true}
			p, err := plan.NewCollective(cmd.Context(), cmd.Flags(), what, o, inject)
			if err != nil {
				return nil, err
			}
			return &p.Plan, p.Judge(p.Config.Trace)
		}
		return outcome.Perform(cmd.Context(), a, cmd.Flags(), "gpurun "+what.Name, planRun, show(resultsOn(a.Out)))
	}
	return cmd
}

func newProductCommand(a *program.Invocation, what *matmul.Operation) *cobra.Command {
	cmd := newRunCommand(what.Name, what.Aliases, what.Summary)
	cmd.Long, cmd.Example = productLong(what), strings.Join(productExamples(what), "\n")
	flags.AddProduct(cmd.Flags())
	flags.AddJSON(cmd.Flags())
	flags.AddCompile(cmd.Flags())
	flags.AddInject(cmd.Flags())
	flags.AddSkew(cmd.Flags())
	options := plan.Options{Profiles: [][]byte{configs.Products}, Further: true}
	showDefaultsOf(cmd, options)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		planRun := func() (*plan.Plan, error) {
			inject, err := flags.Injections(cmd.Flags())
			if err != nil {
				return nil, err
			}
			if options.Skew, err = flags.Skews(cmd.Flags()); err != nil {
				return nil, err
			}
			options.Notify = notify(a)
			p, err := plan.NewProduct(cmd.Context(), cmd.Flags(), what, options, inject)
			if err != nil {
				return nil, err
			}
			return &p.Plan, nil
		}
		return outcome.Perform(cmd.Context(), a, cmd.Flags(), "gpurun "+what.Name, planRun, show(productsOn(a.Out)))
	}
	return cmd
}

// notify prints what the user should know before files are opened.
func notify(a *program.Invocation) func(string) {
	return func(text string) { fmt.Fprintf(a.Err, "gpurun: %s\n", text) }
}

// resultsOn makes renderers of a collective's results; on a terminal the table fits its width.
func resultsOn(out io.Writer) func(result.Format, io.Writer) (result.Renderer, error) {
	return func(format result.Format, w io.Writer) (result.Renderer, error) {
		if format != result.TableFormat {
			return result.NewRenderer(format, w)
		}
		w, width := terminal.Results(out, w)
		return result.NewTable(w, width), nil
	}
}

// productsOn is resultsOn for products.
func productsOn(out io.Writer) func(result.Format, io.Writer) (result.Renderer, error) {
	return func(format result.Format, w io.Writer) (result.Renderer, error) {
		if format != result.TableFormat {
			return result.NewProductRenderer(format, w)
		}
		w, width := terminal.Results(out, w)
		return result.NewProductTable(w, width), nil
	}
}

// show prints the results of a run as they come.
func show(
	newRenderer func(result.Format, io.Writer) (result.Renderer, error),
) func(context.Context, *program.Invocation, *plan.Plan) error {
	return func(ctx context.Context, a *program.Invocation, p *plan.Plan) error {
		return p.Show(ctx, a, session.Show{
			Title: "gpurun " + p.Job.Collective,
			Renderer: func(stdout io.Writer) (result.Renderer, error) {
				return newRenderer(result.Format(p.Config.Output), stdout)
			},
		})
	}
}

func collectiveLong(what *collective.Collective) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n\n%s\n\nAlgorithms:\n", what.Name, what.Summary, verification(what.Shape))
	for _, algorithm := range what.Algorithms {
		fmt.Fprintln(&b, entry(algorithm.Name, algorithm.Summary, helpWidth))
	}
	b.WriteString("\nTimes are medians, in microseconds, of the slowest rank.\n\n" + exitCodesWithThresholds)
	return b.String()
}

// verification says what a run verifies.
func verification(s collective.Shape) string {
	const compared = "Every element of every rank is compared with a reference, before timing and after it."
	if s.Empty {
		return "After the barrier every rank must read what all ranks wrote before it. In some calls one\nrank is late."
	}
	if _, _, _, ok := s.InPlace(0); !ok {
		return "Every size runs out of place.\n" + compared
	}
	return "Every size runs out of place and, if the algorithm supports it, in place.\n" + compared
}

func collectiveExamples(what *collective.Collective) []string {
	launcher, name := "  gpurun --nproc-per-node 4 "+what.Name, "  gpurun "+what.Name
	if what.Shape.Empty {
		return []string{
			name + " --algo all", launcher + " -n 100 -G 10",
			"  gpurun --device sim " + what.Name + " --inject hang:rank=1   inject a fault",
		}
	}
	lines := []string{
		name + " -b 8 -e 128M -f 2",
		launcher + " -d half,bfloat16 --algo all -J results.json",
		name + " -b 28 -e 28 -n 100 -G 10              small calls, replayed from a graph",
		name + " --explain                             which algorithm auto chooses, and why",
		"  gpurun --device sim " + what.Name + " --inject corrupt:rank=0,byte=8   inject a fault",
	}
	if flags.HasEpilogues(what) {
		lines = append(lines, name+" -d bfloat16 --epilogue rmsnorm --hidden 8192")
	}
	return lines
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
	fmt.Fprintf(&b, "%s: %s.\n\n%s\n", what.Name, what.Summary, productShape(what))
	b.WriteString(`A is M x K, stored by rows. B is K x N, stored by columns, as the weight of a linear
layer is. Elements are bfloat16 or half, and are accumulated in fp32.

Every element of every rank is verified. Before timing, the operands are small integers,
and the product must match bit for bit. After timing, they are random numbers: the error
of each element must be within a bound, and so must the norm of all errors, which is
printed. For a product that is too large for the CPU, a naive kernel computes the expected
result, and the CPU verifies samples of it.

Algorithms:
`)
	for _, algorithm := range what.Algorithms {
		fmt.Fprintln(&b, entry(algorithm.Name, algorithm.Summary, helpWidth))
	}
	b.WriteString("\nTimes are of the slowest rank; the first column is the median. TFLOP/s are per rank.\n\n" + exitCodes)
	return b.String()
}

func productExamples(what *matmul.Operation) []string {
	return []string{
		"  gpurun --nproc-per-node 4 " + what.Name + " -m 4096 -n 6656 -k 16384 -d bfloat16",
		"  gpurun " + what.Name + " -m 1024,2048,4096,8192 --algo all -J results.json",
		"  gpurun bench " + what.Name + " --against decomposed",
		"  gpurun --device sim " + what.Name + " --inject corrupt:rank=0,byte=8   inject a fault",
	}
}

// collectivesNamed finds collectives; without a name it returns all.
func collectivesNamed(words []string) ([]*collective.Collective, error) {
	if len(words) == 0 {
		return kernels.Collectives(), nil
	}
	var found []*collective.Collective
	for _, word := range words {
		what, ok := kernels.Find(word)
		if !ok && word == settings.All {
			return nil, exit.Usagef("%q is no collective; leave it out for all collectives", word)
		}
		if !ok {
			return nil, suggest.Unknown("collective", word, collectiveNames())
		}
		if !slices.ContainsFunc(found, func(c *collective.Collective) bool { return c.Name == what.Name }) {
			found = append(found, what)
		}
	}
	return found, nil
}

func collectiveNames() []string {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return names
}
