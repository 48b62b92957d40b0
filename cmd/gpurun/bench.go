package main

import (
	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/bench"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/kernels/matmul"
)

const benchLong = `bench measures algorithms of a collective side by side: in every round each is timed once, in
an order that changes, so that whatever drifts hits all alike. Every algorithm is verified
before and after. A sample is the time of --iters calls, replayed from a graph, over their number,
on the slowest rank of the round; with -G 0, which launches each call, "host us" is how long the
host took to enqueue one. Medians have intervals of 95% confidence; a ratio is marked with ~
where the difference may be chance (Mann-Whitney U, p >= 0.05). Without --algo, NCCL takes
part where GPUs and the library are at hand; --algo all measures gpurun's own algorithms alone.

What the links carry is measured in the same run, by the copy engines: all GPUs send to one peer
after the other, and to all peers at once; the faster of the two counts. Bus bandwidth is shown
as a part of it; algorithms that reduce in the switch may exceed it. In the simulator the times
mean nothing.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 99 right but
too slow for a threshold; 128+n signal n.`

const benchExample = `  gpurun bench allreduce
  gpurun bench allreduce --algo auto,nccl --against nccl -d bfloat16 --svg allreduce.svg
  gpurun bench alltoall -b 1M -e 64M --rounds 31 -J before.json
  gpurun compare before.json after.json`

const benchCommand = "bench"

func newBenchCommand(a *program.Invocation, products []*matmul.Operation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     benchCommand + " COLLECTIVE|PRODUCT",
		Short:   "Measure algorithms side by side: medians, intervals, ratios, plots",
		Long:    benchLong,
		Example: benchExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return perform(cmd, a, bench.Title, func() (*bench.Run, error) { return planBench(cmd, words) }, bench.Show)
		},
	}
	bench.AddFlags(cmd.Flags())
	for _, o := range products {
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
func planBench(cmd *cobra.Command, words []string) (*bench.Run, error) {
	if len(words) != 1 {
		return nil, hinted(exit.Usagef("bench takes one collective or product: %s", phrase.OrList(benchNames())), cmd)
	}
	found, err := collectivesNamed(words)
	if err != nil {
		return nil, hinted(phrase.Unknown("collective or product", words[0], benchNames()), cmd)
	}
	what := found[0]
	if err := bench.Refuse(cmd.Flags(), what); err != nil {
		return nil, hinted(err, cmd)
	}
	return bench.Plan(cmd.Context(), cmd.Flags(), what)
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
			title := bench.Title + " " + what.Name
			return perform(cmd, a, title, func() (*bench.Product, error) { return bench.PlanProduct(cmd.Context(), cmd.Flags(), what) }, bench.ShowProduct)
		},
	}
	bench.AddProductFlags(cmd.Flags())
	return cmd
}

const benchProductLong = `In every round each algorithm is timed once, in an order that changes, so that whatever
drifts hits all alike. Every algorithm is verified before and after. A sample is the time of
--iters calls over their number, on the slowest rank of the round; "host us" is how long the
host took to enqueue one. Medians have intervals of 95% confidence; a ratio is marked with ~
where the difference may be chance (Mann-Whitney U, p >= 0.05).
With --algo all, naive is left out, which takes far longer.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 128+n signal n.`
