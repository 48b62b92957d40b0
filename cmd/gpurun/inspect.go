package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/inspect"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
)

const inspectLong = `inspect lists the kernels of PTX files: parameters, registers, memory, launch bounds, and
whether the simulator can run each kernel. If it cannot, inspect names the line and the
instruction. Of cubins, fatbins and host objects, inspect lists the kernels by name; these
run on GPUs only. inspect needs no GPU.

Exit codes: 0 the simulator can run all kernels; 1 it cannot run some; 2 usage, or a file
is neither PTX nor other GPU code.`

const inspectExample = `  gpurun inspect kernels.ptx
  gpurun inspect --json build/*.ptx`

// maxCodeBytes is more than the largest libraries of GPU code have.
const maxCodeBytes = 1 << 31

func newInspectCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inspect FILE...",
		Short:   "List the kernels of PTX files, and which of them the simulator can run",
		Long:    inspectLong,
		Example: inspectExample,
	}
	asJSON := cmd.Flags().Bool("json", false, "write JSON instead of text")
	takeLauncherFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usageError(exit.Usagef("inspect needs at least one file of PTX or other GPU code"), cmd)
		}
		var inputs []inspect.Input
		for _, file := range files {
			if err := isCode(file); err != nil {
				return err
			}
			data, err := settings.ReadFile(file, maxCodeBytes)
			if err != nil {
				return exit.Usagef("reading GPU code: %w", err)
			}
			inputs = append(inputs, inspect.Input{Name: file, Data: data})
		}
		return report(a, inspect.Of(inputs), *asJSON)
	}
	return cmd
}

// isCode refuses a file whose extension says that it is no code for GPUs, and names the command for it.
func isCode(file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil // to read it will tell
	}
	if text := suggest.File(file); text != "" && !slices.Contains([]string{".ptx", ".cubin"}, filepath.Ext(file)) {
		return exit.Usagef("%s is no code for GPUs; %s", file, text)
	}
	return nil
}

// report prints what was found, and fails for what the simulator cannot run.
func report(a *program.Invocation, r inspect.Report, asJSON bool) error {
	form := inspect.Report.Print
	if asJSON {
		form = inspect.Report.JSON
	}
	if err := form(r, a.Out); err != nil {
		return err
	}
	var unreadable []error
	for _, f := range r.Unreadable() {
		unreadable = append(unreadable, exit.Usagef("%s", f.Error))
	}
	switch {
	case len(unreadable) > 0:
		return errors.Join(unreadable...)
	case r.Run < r.Kernels:
		return &exit.Error{Code: exit.WrongData} // all has been said
	}
	return nil
}
