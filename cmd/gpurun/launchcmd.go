package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
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
		return launch(cmd, a, options, line)
	}
	own := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.AddLauncher(own)
	for _, name := range forCollectives() {
		own.Lookup(name).Hidden = true
	}
	cmd.Flags().AddFlagSet(options.Flags())
	cmd.Flags().AddFlagSet(own) // but for those that torchrun has too
	cmd.InitDefaultHelpFlag()
	return cmd
}

// forCollectives are flags that mean nothing to a program.
func forCollectives() []string { return []string{"device", "require-gpu", "oversubscribe"} }

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

// takeOptions reads a command line into gpurun's own flags and settings, and into
// torchrun's options. remark is to be said before the run, or is empty. A plain torchrun knows nothing of Slurm.
func takeOptions(cmd *cobra.Command, options *torchrun.Options, line torchrun.Line, plain bool) (s *settings.Sources, remark string, err error) {
	own := cmd.Flags()
	for _, set := range line.Settings {
		if options.Flags().Lookup(set.Flag.Name) == set.Flag {
			continue
		}
		if err := own.Set(set.Flag.Name, set.Value); err != nil {
			return nil, "", hinted(&exit.UsageError{Err: err}, cmd)
		}
	}
	if s, err = settings.Load(own); err != nil {
		return nil, "", err
	}
	if !plain {
		if remark, err = s.TakeStep(&line); err != nil {
			return nil, "", err
		}
	}
	if err := options.Take(line, s.Lookup); err != nil {
		return nil, "", hinted(&exit.UsageError{Err: err}, cmd)
	}
	return s, remark, nil
}
