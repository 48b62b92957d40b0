package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/program"
	"gpurun/kernels/ptx"
)

func newVersionCommand(a *program.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of gpurun and of what it was built with",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := noLauncherFlags(cmd); err != nil {
				return err
			}
			manifest, err := ptx.ReadManifest()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "gpurun %s\n%s %s/%s\nkernels: %d PTX modules by %s\n",
				program.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, len(manifest.Modules), manifest.Compiler)
			return err
		},
	}
}
