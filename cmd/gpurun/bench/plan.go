// Package bench measures algorithms side by side, in passes, and draws what came of it.
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

// Title names the measurement in CI systems; the name of the collective follows it.
const Title = "gpurun bench"

// Flags of bench that are about its own output.
const (
	svgFlag  = "svg"
	plotFlag = "plot"
)

// AddFlags adds the flags of a measurement.
func AddFlags(f *pflag.FlagSet) {
	flags.AddAllBut(f, "run-cycles", "explain", "minutes", "trace", "cublas-lib")
	f.Lookup("iters").Usage = "`number` of calls in a sample"
	f.Lookup("cudagraph").Usage = "`0|1`: 1 replays the calls from a graph, 0 launches each"
	f.String("rounds", "", "`number` of passes; a pass takes one sample of every algorithm")
	f.String("against", "", "`algorithm` that ratios are relative to; default: nccl if it is measured, else the first")
	f.String(svgFlag, "", "plot times and bandwidths by size into this SVG `file`")
	f.Bool(plotFlag, false, "also plot them as text, below the table on stdout, else on stderr; "+
		"default: only on a terminal")
}

// Plan makes passes of a collective as a command's flags say, and checks everything that can be
// checked beforehand. notify is told what the user should know before kernel files are loaded; it may be nil.
func Plan(ctx context.Context, f *pflag.FlagSet, what *collective.Collective, notify func(string)) (*Run, error) {
	b := &Run{}
	var err error
	if b.svg, err = f.GetString(svgFlag); err != nil {
		return nil, err
	}
	if b.plot, err = f.GetBool(plotFlag); err != nil {
		return nil, err
	}
	b.plotAsked = f.Changed(plotFlag)
	o := PlanOptions()
	o.Notify = notify
	if b.CollectiveRun, err = plan.NewCollective(ctx, f, what, o, nil); err != nil {
		return nil, err
	}
	if n := b.Config.CUDAGraph; n > 1 {
		return nil, b.Sources.Invalid("cudagraph",
			fmt.Errorf("%d is neither 0 nor 1: each pass replays the graph once, and --rounds sets the number of passes", n))
	}
	if err := b.Judge(b.svg); err != nil {
		return nil, err
	}
	return b, b.sideBySide()
}

const oneHost = "bench aligns the ranks through shared memory, and so runs within one machine"

// PlanOptions is what sets a measurement apart from the usual run.
func PlanOptions() plan.Options {
	return plan.Options{
		Profiles: [][]byte{configs.Bench}, SimulatorProfiles: [][]byte{configs.BenchSimulator}, Override: override,
		OneHost: oneHost,
	}
}

// override leaves out what has no place among passes.
func override(c *settings.Config) { c.RunCycles, c.Explain = 1, false }

// Refuse refuses flags that mean nothing to the collective.
func Refuse(f *pflag.FlagSet, what *collective.Collective) error {
	if why := flags.FirstInapplicable(f, what); why != "" {
		return exit.Usagef("%s", why)
	}
	if f.Changed(svgFlag) && what.Shape.Empty {
		return exit.Usagef("--%s plots by size, and %s moves no data", svgFlag, what.Name)
	}
	return nil
}
