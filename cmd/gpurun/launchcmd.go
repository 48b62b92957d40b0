package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/launch"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/torchrun"
)

const launchLong = `%s runs a script, module or program in several processes, with the variables by
which PyTorch's processes find each other. Flags are torchrun's: with dashes or
underscores, shortened, or in the environment as PET_NPROC_PER_NODE for
--nproc-per-node. In the arguments ${local_rank} is the process's local rank.`

// newLaunchCommand makes the command that launches programs. It reads its words
// itself: torchrun's rules are not cobra's.
func newLaunchCommand(a *program.Invocation) *cobra.Command {
	name, options := a.Name(), torchrun.New()
	cmd := &cobra.Command{
		Use:                name + " [flags] SCRIPT|MODULE|COMMAND [args]",
		Long:               fmt.Sprintf(launchLong, name),
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableFlagParsing: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		line, err := options.Split(args, cmd.Flags())
		switch {
		case line.Has("help"):
			return cmd.Help()
		case err != nil:
			return explainWords(cmd, err)
		}
		return launch.Run(cmd.Context(), a, launch.Words{Own: cmd.Flags(), Options: options, Line: line, Hint: hint(cmd)})
	}
	launch.AddFlags(cmd.Flags(), options)
	cmd.InitDefaultHelpFlag()
	return cmd
}

// explainWords makes a usage error of what is wrong with the flags, with the
// nearest flag.
func explainWords(cmd *cobra.Command, err error) error {
	var unknown *torchrun.UnknownFlagError
	if !errors.As(err, &unknown) {
		return hinted(&exit.UsageError{Err: err}, cmd)
	}
	var names []string
	note := func(f *pflag.Flag) { names = append(names, "--"+f.Name) }
	cmd.Flags().VisitAll(note)
	text := err.Error() + instead(unknown.Flag[1:])
	if best := phrase.Nearest(unknown.Flag, names); best != "" && len(unknown.Flag) > len("-g") {
		text += "; did you mean " + best + "?"
	}
	return hinted(&exit.UsageError{Err: errors.New(text)}, cmd)
}
