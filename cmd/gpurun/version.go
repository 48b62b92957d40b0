package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/program"
	"gpurun/kernels/ptx"
)

// versions are what a binary was built of.
type versions struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"` // of the commit
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Modules  int    `json:"ptx_modules"`
	Compiler string `json:"ptx_compiler"`
}

func newVersionCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of gpurun and of what it was built with",
		Args:  noArguments,
	}
	asJSON := cmd.Flags().Bool("json", false, "write JSON instead of text")
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v, err := readVersions()
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(a.Out).Encode(v)
		}
		_, err = fmt.Fprint(a.Out, v)
		return err
	}
	return cmd
}

func readVersions() (versions, error) {
	compiler, err := ptx.Compiler()
	if err != nil {
		return versions{}, err
	}
	modules, err := ptx.Modules()
	b := program.ReadBuild()
	return versions{
		Version: b.Version, Commit: b.Commit, Date: b.Date, Modified: b.Modified, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: modules, Compiler: compiler,
	}, err
}

// String has a line for each thing.
func (v versions) String() string {
	commit := "unknown"
	if v.Commit != "" {
		commit = v.Commit + " of " + v.Date
	}
	if v.Modified {
		commit += ", with changes"
	}
	return fmt.Sprintf("gpurun %s\ncommit: %s\nbuilt by: %s for %s\nkernels: %d PTX modules by %s\n", v.Version, commit,
		v.Go, v.Platform, v.Modules, v.Compiler)
}
