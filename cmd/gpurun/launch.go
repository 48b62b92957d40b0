package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/launch"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/torchrun"
)

const launchLong = `%s runs a script, module or program in several processes, and sets the environment
variables that PyTorch reads. It takes torchrun's flags, with dashes or underscores;
unambiguous prefixes are enough. Each flag has an environment variable, such as
PET_NPROC_PER_NODE for --nproc-per-node. In the arguments, ${local_rank} is replaced by
the local rank of the process.`

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
			return launchFlagError(cmd, err)
		}
		return launch.Run(cmd.Context(), a,
			launch.Words{Own: cmd.Flags(), Options: options, Line: line, Hint: usageHint(cmd)})
	}
	launch.AddFlags(cmd.Flags(), options)
	cmd.InitDefaultHelpFlag()
	return cmd
}

// launchFlagError makes a usage error of what is wrong with the flags, and suggests a flag.
func launchFlagError(cmd *cobra.Command, err error) error {
	var unknown *torchrun.UnknownFlagError
	if !errors.As(err, &unknown) {
		return usageError(&exit.UsageError{Err: err}, cmd)
	}
	text := err.Error()
	if instead := habit(cmd, unknown.Word, unknown.Flag); instead != "" {
		return usageError(exit.Usagef("unknown flag %s%s", unknown.Word, instead), cmd)
	}
	var names []string
	note := func(f *pflag.Flag) { names = append(names, "--"+f.Name) }
	cmd.Flags().VisitAll(note)
	if best := suggest.Nearest(unknown.Flag, names); best != "" && len(unknown.Flag) > len("-g") {
		text += "; did you mean " + best + "?"
	}
	return usageError(&exit.UsageError{Err: errors.New(text)}, cmd)
}

// whatWordsAre are the flags that say what the first word is, so that its form does not matter.
var whatWordsAre = []string{"module", "no-python", "run-path"}

// saysProgram reports whether a command line launches a program by its form: a flag or the end of a name says so.
func saysProgram(line torchrun.Line) bool {
	switch {
	case len(line.Words) == 0:
		return false
	case line.Dashed, slices.ContainsFunc(whatWordsAre, line.Has):
		return true
	}
	word := line.Words[0]
	return strings.HasSuffix(word, ".py") && !strings.HasPrefix(word, "__") // no command has such a name
}

// launches reports whether a word is a program to launch: it is none of gpurun's own commands. With a variable such as
// PET_MODULE, all other words are programs.
func launches(root *cobra.Command, word string) bool {
	own, _, err := root.Find([]string{word})
	return (err != nil || own == root) && word != "help" && word != "completion" && !strings.HasPrefix(word, "__") &&
		(slices.ContainsFunc(whatWordsAre, isInEnvironment) || launchable(root, word))
}

// isInEnvironment reports whether a variable sets one of torchrun's flags to something that is not false. What makes no
// sense is for the launch to say.
func isInEnvironment(flag string) bool {
	text, _ := settings.FromEnvironment(flag)
	is, err := strconv.ParseBool(text)
	return text != "" && (is || err != nil)
}

// launchable reports whether a bare word names a program or script, even a missing one, rather
// than a misspelled collective.
func launchable(root *cobra.Command, word string) bool {
	_, err := os.Stat(word)
	if base := filepath.Base(word); err != nil && base != word && namesCommand(root, base) {
		return false // ./build/all_reduce_perf, which unknownCommand explains
	}
	if _, err := exec.LookPath(word); err == nil {
		return true
	}
	if suggest.File(word) != "" {
		return false // a kernel file, which another command takes
	}
	if strings.HasSuffix(word, ".py") || strings.Contains(word, "/") {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}
