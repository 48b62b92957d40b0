package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
)

// isCompletion reports whether a shell asks how a command line could go on.
func isCompletion(args []string) bool {
	return len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd)
}

// addCompletions has shells offer what cobra does not: scripts to launch, and the values of
// flags. words are the words of the line. A command that takes words offers them itself.
func addCompletions(root *cobra.Command, words []string) {
	if cmd, _, err := root.Find(words); err == nil {
		hideLauncherFlags(cmd)
	}
	root.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // files
	}
	completeFlags(root)
	for _, c := range root.Commands() {
		completeFlags(c)
		for _, below := range c.Commands() {
			completeFlags(below)
		}
	}
}

// completeCollectives offers the names of collectives, as a command's ValidArgsFunction.
func completeCollectives(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return collectiveNames(), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags has a command's own flags complete their values, and describes them without
// pflag's back quotes.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		var placeholder string
		placeholder, f.Usage = pflag.UnquoteUsage(f)
		values := flagValues(cmd, f.Name, placeholder)
		if _, known := cmd.GetFlagCompletionFunc(f.Name); known || len(values) == 0 {
			return
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if f.Name == "algo" {
			directive = cobra.ShellCompDirectiveDefault // kernel files, too
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, directive)); err != nil {
			cobra.CompErrorln(err.Error()) // the shell shows it to the user
		}
	})
}

// flagValues are the values that a flag takes. The placeholder in its usage may list them,
// such as on|off.
func flagValues(cmd *cobra.Command, flag, placeholder string) (values []string) {
	operation, isProduct := matmul.Find(cmd.Name())
	switch flag {
	case "output":
		for _, f := range result.Formats() {
			values = append(values, string(f))
		}
	case "datatype":
		types := collective.DTypes()
		if isProduct {
			types = matmul.DTypes()
		}
		for _, d := range types {
			values = append(values, d.Name)
		}
	case "op":
		for _, op := range collective.Ops() {
			values = append(values, string(op))
		}
	case "algo":
		values = []string{settings.Auto, settings.All}
		if c, ok := kernels.Find(cmd.Name()); ok {
			for _, a := range c.Algorithms {
				values = append(values, a.Name)
			}
		} else if isProduct {
			for _, a := range operation.Algorithms {
				values = append(values, a.Name)
			}
		}
	default:
		if strings.Contains(placeholder, "|") {
			values = strings.Split(placeholder, "|")
		}
	}
	return values
}
