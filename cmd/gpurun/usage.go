package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// The exit codes end the help of a command that runs kernels: one that has thresholds, or one
// that has none.
const (
	exitCodes = `Exit codes: 0 every result is right; 1 wrong data; 2 usage; 3 environment, such as
too few GPUs; 4 timeout; 5 a worker died; 6 the ranks did not meet; 128+n ended by
signal n; 220 a GPU failed; 221 another node was lost.`
	exitCodesWithThresholds = `Exit codes: 0 every result is right; 1 wrong data; 2 usage; 3 environment, such as
too few GPUs; 4 timeout; 5 a worker died; 6 the ranks did not meet; 99 right, but a
threshold was missed; 128+n ended by signal n; 220 a GPU failed; 221 another node was
lost.`
)

// usageError adds to an error where the command's usage stands.
func usageError(err error, cmd *cobra.Command) error {
	return &exit.UsageError{Err: err, Hint: usageHint(cmd)}
}

func usageHint(cmd *cobra.Command) string { return "Run '" + cmd.CommandPath() + " --help' for usage." }

// noArguments refuses positional arguments.
func noArguments(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return usageError(exit.Usagef("unexpected argument %q for %q%s", words[0], cmd.CommandPath(),
			flagOf(cmd, words[0])), cmd)
	}
	return nil
}

// flagOf names the flag that a word of a collective's command line belongs to.
func flagOf(cmd *cobra.Command, word string) string {
	what, ok := kernels.Find(cmd.Name())
	if !ok {
		return ""
	}
	_, isAlgorithm := what.Algorithm(word)
	_, isType := collective.ParseDType(word)
	var size settings.ByteSize
	switch {
	case word == "help":
		return "; --help shows its flags"
	case isAlgorithm || kernelfile.IsPath(word):
		return "; --algo chooses algorithms"
	case isType && takes(cmd, "datatype"):
		return "; --datatype sets the element types"
	case size.UnmarshalText([]byte(word)) == nil && takes(cmd, "minbytes"):
		return "; --minbytes and --maxbytes set the sizes"
	}
	return ""
}

func unknownCommand(cmd *cobra.Command, word string) error {
	if base := filepath.Base(word); base != word && namesCommand(cmd, base) {
		return usageError(exit.Usagef("there is no file %s; gpurun has a command for it: write gpurun %s", word, base), cmd)
	}
	if text := suggest.Command(word); text != "" {
		return usageError(exit.Usagef("unknown command %q; %s", word, text), cmd)
	}
	if text := cmp.Or(suggest.File(word), suggest.Algorithm("gpurun", word, kernels.Collectives())); text != "" {
		return usageError(exit.Usagef("unknown collective or command %q; %s", word, text), cmd)
	}
	names := map[string]string{}
	for _, c := range cmd.Commands() {
		for _, name := range append(c.Aliases, c.Name()) {
			if !c.Hidden {
				names[name] = c.Name()
			}
		}
	}
	return usageError(suggest.Meant("collective or command", word, names, "gpurun --help shows all"), cmd)
}

// flagErrorIn is flagError for a line that has the flag in a word: mpirun's long flags, such as -host, have one dash.
func flagErrorIn(word string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && strings.HasSuffix(word, cmp.Or(unknown.GetSpecifiedShortnames(), word)) {
			if text := habit(cmd, word); text != "" {
				return usageError(exit.Usagef("unknown flag %s%s", word, text), cmd)
			}
		}
		return flagError(cmd, err)
	}
}

// joinedFlag is the error for a long flag of mpirun, or nil: pflag reads -timeout as -t with the value imeout.
func joinedFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || invalid.GetFlag().Shorthand == "" {
		return nil
	}
	word := "-" + invalid.GetFlag().Shorthand + invalid.GetValue()
	text := habit(cmd, word)
	if text == "" {
		return nil
	}
	return usageError(exit.Usagef("unknown flag %s%s", word, text), cmd)
}

// flagError turns what pflag says about a command line into a usage error that suggests a
// flag.
func flagError(cmd *cobra.Command, err error) error {
	if joined := joinedFlag(cmd, err); joined != nil {
		return joined
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		err = exit.Usagef("--%s: %q is neither true nor false", invalid.GetFlag().Name, invalid.GetValue())
	}
	if invalid != nil && strings.HasPrefix(invalid.GetFlag().Value.Type(), "int") {
		err = exit.Usagef("--%s: %q is not a whole number in range", invalid.GetFlag().Name, invalid.GetValue())
	}
	if invalid != nil && strings.HasPrefix(invalid.GetFlag().Value.Type(), "float") {
		err = exit.Usagef("--%s: %q is not a number", invalid.GetFlag().Name, invalid.GetValue())
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
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		return usageError(exit.Usagef("unknown flag -%s%s", name, habit(cmd, "-"+letters, "-"+name)), cmd)
	}
	launched := torchrun.New().Flags()
	flags.AddCommand(launched)
	if cmd.HasParent() && launched.Lookup(name) != nil {
		return usageError(exit.Usagef("--%s applies to launched programs, not to %q", name, cmd.CommandPath()), cmd)
	}
	if text := habit(cmd, "--"+name); text != "" {
		return usageError(exit.Usagef("unknown flag --%s%s", name, text), cmd)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if takes(cmd, f.Name) {
			names = append(names, f.Name)
		}
	})
	text := "unknown flag --" + name
	if best := suggest.Nearest(name, names); best != "" {
		text += "; did you mean --" + best + "?"
	} else if word := suggest.Misspelled("--"+name, cmd.HasParent()); word != "" {
		text += habit(cmd, word)
	}
	return usageError(exit.Usagef("%s", text), cmd)
}

// habit says what to write in place of a flag of another program, the first of some spellings that is one's; or is
// empty.
func habit(cmd *cobra.Command, spellings ...string) string {
	for _, flag := range spellings {
		if text := suggest.Flag(flag, cmd.HasParent(), func(name string) bool { return takes(cmd, name) }); text != "" {
			return "; " + text
		}
	}
	return ""
}

// takes reports whether a command has a flag, and does not refuse it.
func takes(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	if f == nil {
		return name == "version" && !cmd.HasParent() // cobra adds it later
	}
	return f != cmd.Root().PersistentFlags().Lookup(name) || takesLauncherFlag(cmd, name)
}
