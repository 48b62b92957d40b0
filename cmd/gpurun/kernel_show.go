package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/kernelshow"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

const kernelShowLong = `show prints what every rank gets in one call of a kernel file: the buffers, and for each step
the grid, the block, the cluster, the shared memory and all arguments, in hexadecimal, each
with its line in the file. It needs no device: addresses are made up.

Exit codes: 0 the call can be launched so on every rank; 2 usage, or an error in the file.`

const kernelShowExample = `  gpurun kernel show oneshot.toml --nproc-per-node 4
  gpurun kernel show oneshot.toml -b 1M --json`

func newKernelShowCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show FILE",
		Short:   "Show what every rank gets: buffers, grids, arguments",
		Long:    kernelShowLong,
		Example: kernelShowExample,
	}
	var o showOptions
	f := cmd.Flags()
	f.StringVarP(&o.dtype, "datatype", "d", "", "element `type`")
	f.StringVarP(&o.op, "op", "o", "", "reduction `operation`")
	f.StringVarP(&o.bytes, "bytes", "b", "4K", "`size` of the call: bytes of the larger of a rank's buffers")
	const usualExtent = 256
	f.Int64VarP(&o.call.M, "m", "m", usualExtent, "`rows` of the whole A, of a product of matrices")
	f.Int64VarP(&o.call.N, "n", "n", usualExtent, "`columns` of B, likewise")
	f.Int64VarP(&o.call.K, "k", "k", usualExtent, "`columns` of A, likewise")
	f.IntVar(&o.call.SMs, "sms", 132, "`number` of multiprocessors of each device")
	f.IntVarP(&o.call.Root, "root", "r", 0, "`rank` that is the source or the destination of the data")
	f.Int64Var(&o.call.Number, "call", 0, "`number` of the call, from 0 on")
	f.BoolVar(&o.call.InPlace, "in-place", false, "show a call whose output is its input")
	f.BoolVar(&o.json, "json", false, "write JSON instead of text")
	flags.AddCompile(f)
	f.String("nproc-per-node", "", "`number` of ranks; default: the first value of world in the file, or 2")
	takeLauncherFlags(cmd, "nproc-per-node", "config")
	cmd.ValidArgsFunction = completeKernelFiles
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) != 1 {
			return usageError(exit.Usagef("show needs one kernel file"), cmd)
		}
		// A file may run a command: it is guarded, so that nothing is left of it.
		return outcome.Annotated(a, "gpurun kernel show", a.Guarded(func() error { return o.show(cmd, a, words[0]) }))
	}
	return cmd
}

// showOptions are the flags of show.
type showOptions struct {
	dtype, op, bytes string
	json             bool
	call             kernelshow.Call
}

func (o showOptions) show(cmd *cobra.Command, a *program.Invocation, path string) error {
	f, text, err := kernelcode.Read(path)
	if err != nil {
		return err
	}
	if err := o.complete(cmd, f); err != nil {
		return err
	}
	bundle, err := kernelcode.Load(cmd.Context(), f, text, kernelcode.Options{
		World: o.call.World, Types: []string{o.call.DType.Name}, Ops: []string{o.call.Op},
		Compile: flags.MayCompile(cmd.Flags()), Notify: notify(a),
	})
	if err != nil {
		return err
	}
	report, err := kernelshow.Of(f, bundle, o.call)
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	if o.json {
		return report.JSON(a.Out)
	}
	return report.Print(a.Out)
}

// complete reads the flags, and takes from the file what they do not say.
func (o *showOptions) complete(cmd *cobra.Command, f *kernelfile.File) error {
	const fewRanks, mostSMs = 2, 1024
	sources, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	c, err := settings.Read(sources)
	if err != nil {
		return err
	}
	o.call.World = c.NProcPerNode.Number
	switch {
	case o.call.World == 0 && len(f.World) > 0:
		o.call.World = f.World[0]
	case o.call.World == 0:
		o.call.World = fewRanks
	}
	o.call.TimeoutNS = int64(time.Duration(c.Timeout))
	var bytes settings.ByteSize
	if err := bytes.UnmarshalText([]byte(o.bytes)); err != nil {
		return exit.Usagef("--bytes: %w", err)
	}
	o.call.Bytes = int64(bytes)
	if o.call.DType, o.call.Op, err = plan.CallOf(f, o.dtype, o.op); err != nil {
		return err
	}
	switch {
	case o.call.World > collective.MaxRanks:
		return exit.Usagef("--nproc-per-node: %d ranks are more than %d", o.call.World, collective.MaxRanks)
	case o.call.SMs < 1 || o.call.SMs > mostSMs:
		return exit.Usagef("--sms: %d is not between 1 and %d", o.call.SMs, mostSMs)
	case o.call.Root < 0 || o.call.Root >= o.call.World:
		return exit.Usagef("--root: there is no rank %d among %d", o.call.Root, o.call.World)
	case o.call.Number < 0:
		return &exit.UsageError{Err: errors.New("--call: the first call is number 0")}
	}
	return nil
}
