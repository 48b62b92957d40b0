// Package bench measures algorithms side by side, in rounds, and draws what came of it.
package bench

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/collective"
)

// Title, with the name of what is measured behind it, is by what CI systems know a measurement.
const Title = "gpurun bench"

// Flags of bench that are about its own output.
const (
	svgFlag  = "svg"
	plotFlag = "plot"
)

// AddFlags adds the flags of a measurement.
func AddFlags(f *pflag.FlagSet) {
	flags.AddAllBut(f, "run-cycles", "explain")
	f.Lookup("iters").Usage = "`number` of calls that are timed together"
	f.Lookup("cudagraph").Usage = "`0|1`: 1 replays the calls from a graph, 0 launches each"
	f.String("rounds", "", "`number` of times that every algorithm is timed, taking turns")
	f.String("against", "", "`algorithm` that ratios are to; without this flag nccl if it takes part, else the first")
	f.String(svgFlag, "", "draw times and bandwidths by size into this `file`")
	f.Bool(plotFlag, false, "draw them in characters as well: below a table on stdout, else on stderr; a terminal gets it unless told not to")
}

// Plan makes rounds of a collective as a command's flags say, and checks everything that can be
// checked beforehand.
func Plan(ctx context.Context, f *pflag.FlagSet, what *collective.Collective) (*Run, error) {
	b := &Run{}
	var err error
	if b.svg, err = f.GetString(svgFlag); err != nil {
		return nil, err
	}
	if b.plot, err = f.GetBool(plotFlag); err != nil {
		return nil, err
	}
	b.plotAsked = f.Changed(plotFlag)
	if b.Collective, err = plan.NewCollective(ctx, f, what, Purpose(), nil); err != nil {
		return nil, err
	}
	if n := b.Config.CUDAGraph; n > 1 {
		return nil, b.Sources.Blame("cudagraph", fmt.Errorf("%d is neither 0 nor 1: a graph is replayed once in every round, and --rounds says how many there are", n))
	}
	if err := b.Judge(b.svg); err != nil {
		return nil, err
	}
	return b, b.sideBySide()
}

// Purpose is what sets a measurement apart from the usual run.
func Purpose() plan.Purpose {
	return plan.Purpose{
		Profiles: [][]byte{configs.Bench}, Simulator: [][]byte{configs.BenchSimulator}, Force: force,
		OneMachine: "bench lines the GPUs up through each other's memory, within one machine",
	}
}

// force leaves out what has no place among rounds.
func force(c *settings.Config) { c.RunCycles, c.Explain = 1, false }

// Refuse refuses flags that mean nothing to the collective.
func Refuse(f *pflag.FlagSet, what *collective.Collective) error {
	if why := flags.Meaningless(f, what); why != "" {
		return exit.Usagef("%s", why)
	}
	if f.Changed(svgFlag) && what.Shape.Empty {
		return exit.Usagef("--%s draws by size, and %s has none: it moves no data", svgFlag, what.Name)
	}
	return nil
}
