package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/kernels/ptx"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of gpurun and of what it was built with",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseLauncherFlags(cmd); err != nil {
				return err
			}
			manifest, err := ptx.ReadManifest()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "gpurun %s\n%s %s/%s\nkernels: %d PTX modules by %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, len(manifest.Modules), manifest.Compiler)
			return err
		},
	}
}

// version is the module's version as the go command stamped it, with the
// commit where the version does not contain it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	text := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			text += " (modified)"
		}
	}
	return text
}

// noArguments refuses positional arguments.
func noArguments(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return hinted(exit.Usagef("%s takes no %q", cmd.CommandPath(), words[0]), cmd)
	}
	return nil
}
