package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/kernels"
)

// The exit codes end the help of a command that runs kernels: one that has thresholds, or one
// that has none.
const (
	exitCodes = `Exit codes: 0 every result is right; 1 wrong data; 2 usage; 3 environment, such as
too few GPUs; 4 timeout; 5 a worker died; 6 the ranks did not meet; 128+n ended by
signal n.`
	exitCodesWithThresholds = `Exit codes: 0 every result is right; 1 wrong data; 2 usage; 3 environment, such as
too few GPUs; 4 timeout; 5 a worker died; 6 the ranks did not meet; 99 right, but a
threshold was missed; 128+n ended by signal n.`
)

// usageError adds to an error where the command's usage stands.
func usageError(err error, cmd *cobra.Command) error {
	return &exit.UsageError{Err: err, Hint: usageHint(cmd)}
}

func usageHint(cmd *cobra.Command) string { return "Run '" + cmd.CommandPath() + " --help' for usage." }

// noArguments refuses positional arguments.
func noArguments(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return usageError(exit.Usagef("unexpected argument %q for %q", words[0], cmd.CommandPath()), cmd)
	}
	return nil
}

// noLauncherFlags refuses the launcher's flags, which all commands inherit, for commands
// that launch nothing.
func noLauncherFlags(cmd *cobra.Command) (err error) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			err = usageError(exit.Usagef("unknown flag --%s for %q", f.Name, cmd.CommandPath()), cmd)
		}
	})
	return err
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var valid []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			valid = append(append(valid, c.Name()), c.Aliases...)
		}
	}
	return usageError(suggest.Unknown("collective or command", word, valid), cmd)
}

// flagError turns what pflag says about a command line into a usage error that suggests a
// flag.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		err = exit.Usagef("--%s: %q is neither true nor false", invalid.GetFlag().Name, invalid.GetValue())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError(err, cmd)
	}
	name := unknown.GetSpecifiedName()
	if what, ok := kernels.Find(cmd.Name()); ok {
		if text := flags.Inapplicable(what, name); text != "" {
			return usageError(exit.Usagef("%s", text), cmd)
		}
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return usageError(exit.Usagef("unknown flag -%s%s", name, replacement(name)), cmd)
	}
	launched := torchrun.New().Flags()
	flags.AddCommand(launched)
	flags.AddDumps(launched)
	if cmd.HasParent() && launched.Lookup(name) != nil {
		return usageError(exit.Usagef("--%s applies to launched programs, not to %q", name, cmd.CommandPath()), cmd)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	text := "unknown flag --" + name
	if best := suggest.Nearest(name, names); best != "" {
		text += "; did you mean --" + best + "?"
	}
	return usageError(exit.Usagef("%s", text), cmd)
}

// replacement names gpurun's flag in place of a flag of nccl-tests, or is empty.
func replacement(shorthand string) string {
	switch shorthand {
	case "g", "t":
		return "; --nproc-per-node sets the number of GPUs"
	}
	return ""
}
