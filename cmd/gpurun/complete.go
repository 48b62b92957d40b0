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

// completing reports whether a shell asks how a command line could go on.
func completing(args []string) bool {
	return len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd)
}

// completeWords has shells offer what cobra does not: scripts to launch, collectives, and the words
// that flags take.
func completeWords(root *cobra.Command) {
	root.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // files
	}
	for _, c := range root.Commands() {
		if c.Name() == benchCommand || c.Name() == tuneCommand {
			c.ValidArgsFunction = cobra.FixedCompletions(collectiveNames(), cobra.ShellCompDirectiveNoFileComp)
		}
		completeFlags(c)
		for _, below := range c.Commands() {
			completeFlags(below)
		}
	}
	completeFlags(root)
}

// completeFlags has a command's own flags complete their words, and describes them without the
// marks of pflag.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		var placeholder string
		placeholder, f.Usage = pflag.UnquoteUsage(f)
		words := choices(cmd, f.Name, placeholder)
		if _, known := cmd.GetFlagCompletionFunc(f.Name); known || len(words) == 0 {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			cobra.CompErrorln(err.Error()) // to the shell's user, as all that goes wrong
		}
	})
}

// choices are the words that a flag takes, of which the placeholder in its usage may tell: on|off.
func choices(cmd *cobra.Command, flag, placeholder string) (words []string) {
	switch flag {
	case "output":
		for _, f := range result.Formats() {
			words = append(words, string(f))
		}
	case "datatype":
		types := collective.DTypes()
		if _, ok := matmul.Find(cmd.Name()); ok {
			types = matmul.DTypes()
		}
		for _, d := range types {
			words = append(words, d.Name)
		}
	case "op":
		for _, op := range collective.Ops() {
			words = append(words, string(op))
		}
	case "algo":
		words = []string{settings.Auto, settings.All}
		if c, ok := kernels.Find(cmd.Name()); ok {
			for _, a := range c.Algorithms {
				words = append(words, a.Name)
			}
		} else if o, ok := matmul.Find(cmd.Name()); ok {
			for _, a := range o.Algorithms {
				words = append(words, a.Name)
			}
		}
	default:
		if strings.Contains(placeholder, "|") {
			words = strings.Split(placeholder, "|")
		}
	}
	return words
}
