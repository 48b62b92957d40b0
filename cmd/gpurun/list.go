package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/list"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
)

func newListCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List collectives and products with their algorithms, and which of these run on this machine",
		Args:  noArguments,
	}
	arch := cmd.Flags().String("sim-arch", settings.DefaultSimArch,
		"compute capability of the simulator's devices, `8.0|8.6|8.9|9.0|10.0`")
	output := cmd.Flags().String("output", "", "`format` of the list: table or json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := noLauncherFlags(cmd); err != nil {
			return err
		}
		form, ok := map[string]func(list.Listing, io.Writer) error{
			"": list.Listing.Print, "table": list.Listing.Print, "json": list.Listing.JSON,
		}[*output]
		if !ok {
			return &exit.UsageError{Err: suggest.Unknown("output format", *output, []string{"table", "json"})}
		}
		if !slices.Contains(settings.SimArches(), *arch) {
			return &exit.UsageError{Err: suggest.Unknown("compute capability", *arch, settings.SimArches())}
		}
		l, err := list.New(*arch)
		if err != nil {
			return err
		}
		return form(l, a.Out)
	}
	return cmd
}
