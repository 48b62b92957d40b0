package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/catalog"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
)

func newListCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List collectives and products, algorithms, types and operations, and where each can run here",
		Args:  noArguments,
	}
	output := cmd.Flags().String("output", "", "`form` of the list: table or json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := refuseLauncherFlags(cmd); err != nil {
			return err
		}
		form, ok := map[string]func(catalog.Listing, io.Writer) error{
			"": catalog.Listing.Print, "table": catalog.Listing.Print, "json": catalog.Listing.JSON,
		}[*output]
		if !ok {
			return &exit.UsageError{Err: phrase.Unknown("output format", *output, []string{"table", "json"})}
		}
		l, err := catalog.List()
		if err != nil {
			return err
		}
		return form(l, a.Out)
	}
	return cmd
}
