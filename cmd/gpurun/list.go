package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/list"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/kernelfile"
)

func newListCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [FILE...]",
		Short: "List collectives and products with their algorithms, and which of these run on this machine",
		Long: `list lists the algorithms of all collectives and products, and says which of them run on this
machine. With kernel files it lists the kernels that these describe.`,
	}
	cmd.ValidArgsFunction = completeKernelFiles
	arch := cmd.Flags().String("sim-arch", settings.DefaultSimArch,
		"compute capability of the simulator's devices, `8.0|8.6|8.9|9.0|10.0`")
	output := cmd.Flags().String("output", "", "`format` of the list: table or json")
	flags.AddCompile(cmd.Flags())
	takeLauncherFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, files []string) error {
		form, ok := map[string]func(list.Listing, io.Writer) error{
			"": list.Listing.Print, "table": list.Listing.Print, "json": list.Listing.JSON,
		}[*output]
		if !ok {
			return &exit.UsageError{Err: suggest.Unknown("output format", *output, []string{"table", "json"})}
		}
		if !slices.Contains(settings.SimArches(), *arch) {
			return &exit.UsageError{Err: suggest.Unknown("compute capability", *arch, settings.SimArches())}
		}
		if len(files) == 0 {
			l, err := list.New(*arch)
			if err != nil {
				return err
			}
			return form(l, a.Out)
		}
		for _, file := range files {
			if !kernelfile.IsPath(file) {
				return usageError(exit.Usagef("unexpected argument %q for %q", file, cmd.CommandPath()), cmd)
			}
		}
		// A file may run a command: it is guarded, so that nothing is left of it.
		return outcome.Annotated(a, "gpurun list", a.Guarded(func() error {
			bundles, err := loadToList(cmd, a, files)
			if err != nil {
				return err
			}
			l, err := list.Files(*arch, bundles)
			if err != nil {
				return err
			}
			return form(l, a.Out)
		}))
	}
	return cmd
}

// loadToList loads kernel files for the first number of ranks that each is for.
func loadToList(cmd *cobra.Command, a *program.Invocation, files []string) (bundles []*kernelfile.Bundle, err error) {
	const fewRanks = 2
	for _, file := range files {
		f, text, err := kernelcode.Read(file)
		if err != nil {
			return nil, err
		}
		o := kernelcode.Options{World: fewRanks, Compile: flags.MayCompile(cmd.Flags()), Notify: notify(a)}
		if len(f.World) > 0 {
			o.World = f.World[0]
		}
		b, err := kernelcode.Load(cmd.Context(), f, text, o)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}
