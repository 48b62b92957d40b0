package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

const benchLong = `bench measures algorithms of a collective side by side: in every round each is timed once, in
an order that changes, so that whatever drifts hits all alike. Every algorithm is verified
before and after. A sample is the time of --iters calls, replayed from a graph, over their number,
on the slowest rank of the round. Medians have intervals of 95% confidence; a ratio is marked
with ~ where the difference may be chance (Mann-Whitney U, p >= 0.05). Without --algo, NCCL takes
part where GPUs and the library are at hand; --algo all measures gpurun's own algorithms alone.

What the links carry is measured in the same run, by the copy engines: all GPUs send to one peer
after the other, and to all peers at once; the faster of the two counts. Bus bandwidth is shown
as a part of it; algorithms that reduce in the switch may exceed it. In the simulator the times
mean nothing.`

const benchExample = `  gpurun bench allreduce
  gpurun bench allreduce --algo auto,nccl --against nccl -d bfloat16 --svg allreduce.svg
  gpurun bench alltoall -b 1M -e 64M --rounds 31 -J before.json
  gpurun compare before.json after.json`

const benchCommand = "bench"

// Flags of bench that are about its own output.
const (
	svgFlag  = "svg"
	plotFlag = "plot"
)

func newBenchCommand(a *program.Invocation, products []*matmul.Operation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     benchCommand + " COLLECTIVE",
		Short:   "Measure algorithms side by side: medians, intervals, ratios, plots",
		Long:    benchLong,
		Example: benchExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return perform(cmd, a, "gpurun "+benchCommand, func() (*benchRun, error) { return planBench(cmd, words) }, showBench)
		},
	}
	addBenchFlags(cmd.Flags())
	for _, o := range products {
		cmd.AddCommand(newProductBenchCommand(a, o))
	}
	return cmd
}

func addBenchFlags(f *pflag.FlagSet) {
	flags.AddAllBut(f, "run-cycles", "explain")
	f.Lookup("iters").Usage = "`number` of calls that are timed together"
	f.Lookup("cudagraph").Usage = "`0|1`: 1 replays the calls from a graph, 0 launches each"
	f.String("rounds", "", "`number` of times that every algorithm is timed, taking turns")
	f.String("against", "", "`algorithm` that ratios are to; without this flag nccl if it takes part, else the first")
	f.String(svgFlag, "", "draw times and bandwidths by size into this `file`")
	f.Bool(plotFlag, false, "draw them in characters as well: below a table on stdout, else on stderr; a terminal gets it unless told not to")
}

// planBench checks everything that can be checked beforehand.
func planBench(cmd *cobra.Command, words []string) (*benchRun, error) {
	if len(words) != 1 {
		return nil, hinted(exit.Usagef("bench takes one collective: %s", phrase.OrList(collectiveNames())), cmd)
	}
	found, err := collectivesNamed(words)
	if err != nil {
		return nil, hinted(err, cmd)
	}
	what := found[0]
	if err := refuseFlags(cmd, what); err != nil {
		return nil, err
	}
	b := &benchRun{}
	if b.svg, err = cmd.Flags().GetString(svgFlag); err != nil {
		return nil, err
	}
	if b.plot, err = cmd.Flags().GetBool(plotFlag); err != nil {
		return nil, err
	}
	b.plotAsked = cmd.Flags().Changed(plotFlag)
	why := plan.Purpose{
		Profiles: [][]byte{configs.Bench}, Simulator: [][]byte{configs.BenchSimulator}, Force: forceBench,
		OneMachine: "bench lines the GPUs up through each other's memory, within one machine",
	}
	if b.Collective, err = plan.NewCollective(cmd.Context(), cmd.Flags(), what, why, nil); err != nil {
		return nil, err
	}
	if n := b.Config.CUDAGraph; n > 1 {
		return nil, b.Settings.Blame("cudagraph", fmt.Errorf("%d is neither 0 nor 1: a graph is replayed once in every round, and --rounds says how many there are", n))
	}
	if err := b.Judge(b.svg); err != nil {
		return nil, err
	}
	return b, b.sideBySide()
}

// forceBench leaves out what has no place among rounds.
func forceBench(c *settings.Config) { c.RunCycles, c.Explain = 1, false }

// refuseFlags refuses flags that mean nothing to the collective.
func refuseFlags(cmd *cobra.Command, what *collective.Collective) error {
	if why := flags.Meaningless(cmd.Flags(), what); why != "" {
		return hinted(exit.Usagef("%s", why), cmd)
	}
	if f := cmd.Flags().Lookup(svgFlag); f.Changed && what.Shape.Empty {
		return hinted(exit.Usagef("--%s draws by size, and %s has none: it moves no data", svgFlag, what.Name), cmd)
	}
	return nil
}
