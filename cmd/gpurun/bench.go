package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/bench"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

const benchLong = `bench measures algorithms of a collective side by side. A pass takes one sample of every
algorithm, in an order that changes, so that drift affects all alike. --rounds sets the
number of passes. Every algorithm is verified before and after.

A sample is the time of --iters calls, replayed from a graph, divided by their number, on
the slowest rank. With -G 0 each call is launched by itself, and "host us" is the time that
the host took to enqueue one. Medians have 95% confidence intervals. A ratio is marked with
~ if the difference may be noise (Mann-Whitney U, p >= 0.05). Without --algo, NCCL is
measured too, if there are GPUs and the library is found. --algo all measures only
gpurun's own algorithms.

bench also measures the bandwidth of the links, by the copy engines: every GPU sends to one
peer after the other, and to all peers at once. The faster of the two is the ceiling, and
bus bandwidth is shown as a percentage of it. Algorithms that reduce in the switch may
exceed it. Times in the simulator say nothing about hardware.

` + exitCodesWithThresholds

const benchExample = `  gpurun bench allreduce
  gpurun bench allreduce --algo auto,nccl --against nccl -d bfloat16 --svg allreduce.svg
  gpurun bench alltoall -b 1M -e 64M --rounds 31 -J before.json
  gpurun compare before.json after.json`

const benchCommand = "bench"

func newBenchCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     benchCommand + " COLLECTIVE|PRODUCT",
		Short:   "Compare algorithms: medians, confidence intervals, ratios, plots",
		Long:    benchLong,
		Example: benchExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return outcome.Perform(cmd.Context(), a, cmd.Flags(), bench.Title,
				func() (*bench.Run, error) { return planBench(a, cmd, words) }, bench.Show)
		},
	}
	cmd.ValidArgsFunction = completeCollectives
	takeOneMachine(cmd)
	showDefaultsOf(cmd, bench.PlanOptions())
	bench.AddFlags(cmd.Flags())
	flags.AddJSON(cmd.Flags())
	flags.AddCompile(cmd.Flags())
	for _, o := range matmul.Operations() {
		cmd.AddCommand(newProductBenchCommand(a, o))
	}
	return cmd
}

// benchNames are the collectives and the products.
func benchNames() []string {
	names := collectiveNames()
	for _, o := range matmul.Operations() {
		names = append(names, o.Name)
	}
	return names
}

// planBench finds the collective, and plans it.
func planBench(a *program.Invocation, cmd *cobra.Command, words []string) (*bench.Run, error) {
	if len(words) == 0 {
		return nil, usageError(exit.Usagef("bench takes one collective or product: %s", suggest.OrList(benchNames())), cmd)
	}
	found, err := collectivesNamed(words[:1])
	if err != nil {
		return nil, usageError(unknownCase(words[0]), cmd)
	}
	if len(words) > 1 {
		return nil, usageError(exit.Usagef("unexpected argument %q: bench takes one collective or product", words[1]), cmd)
	}
	what := found[0]
	if err := bench.Refuse(cmd.Flags(), what); err != nil {
		return nil, usageError(err, cmd)
	}
	return bench.Plan(cmd.Context(), cmd.Flags(), what, notify(a))
}

// unknownCase says that bench has no such collective or product, or how the algorithm is written that a word names.
func unknownCase(word string) error {
	if kernelfile.IsPath(word) {
		return benchOfFile(word)
	}
	if word == kernelfile.Custom {
		return exit.Usagef("bench compares algorithms, and nothing else computes what a custom file does: " +
			"gpurun kernel FILE measures it")
	}
	if text := suggest.Algorithm("gpurun bench", word, kernels.Collectives()); text != "" {
		return exit.Usagef("unknown collective or product %q; %s", word, text)
	}
	if word == settings.All || strings.Contains(word, ",") {
		return exit.Usagef("%q: bench takes one collective or product: %s", word, suggest.OrList(benchNames()))
	}
	return suggest.Unknown("collective or product", word, benchNames())
}

// benchOfFile says how a kernel file is measured.
func benchOfFile(path string) error {
	of := "COLLECTIVE"
	if f, _, err := kernelcode.Read(path); err == nil {
		of = f.Collective
	}
	if of == kernelfile.Custom {
		return exit.Usagef("bench compares algorithms, and nothing else computes what %s does: "+
			"gpurun kernel %[1]s measures it", path)
	}
	return exit.Usagef("bench takes a kernel file behind --algo: write gpurun bench %s --algo %s", of, path)
}

// newProductBenchCommand makes the command below bench: products have flags of their own.
func newProductBenchCommand(a *program.Invocation, what *matmul.Operation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Compare algorithms of " + what.Name,
		Long:    benchProductLong,
		Example: "  gpurun --nproc-per-node 4 bench " + what.Name + " -m 4096 -n 6656 -k 16384 --against decomposed",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			title := bench.Title + " " + what.Name
			planRun := func() (*bench.Product, error) {
				return bench.PlanProduct(cmd.Context(), cmd.Flags(), what, notify(a))
			}
			return outcome.Perform(cmd.Context(), a, cmd.Flags(), title, planRun, bench.ShowProduct)
		},
	}
	showDefaultsOf(cmd, bench.ProductPlanOptions())
	bench.AddProductFlags(cmd.Flags())
	flags.AddJSON(cmd.Flags())
	flags.AddCompile(cmd.Flags())
	return cmd
}

const benchProductLong = `A pass takes one sample of every algorithm, in an order that changes, so that drift affects
all alike. --rounds sets the number of passes. Every algorithm is verified before and after.
A sample is the time of --iters calls divided by their number, on the slowest rank; "host us"
is the time that the host took to enqueue one. Medians have 95% confidence intervals. A ratio
is marked with ~ if the difference may be noise (Mann-Whitney U, p >= 0.05). --algo all
leaves out naive, which takes far longer.

` + exitCodes
