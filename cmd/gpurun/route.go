package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/torchrun"
)

// newCommand makes the command that the words belong to: torchrun's, which
// launches a program, or gpurun's own. A worker, of which there are many, gets no other
// commands beside its own.
func newCommand(a *program.Invocation) *cobra.Command {
	if torchrun.Named(a.Args[0]) {
		return newLaunchCommand(a)
	}
	if len(a.Args) == 2 && a.Args[1] == session.WorkerCommand {
		root := &cobra.Command{Use: "gpurun", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(newWorkerCommand())
		return root
	}
	root := newRootCommand(a)
	if completing(a.Args) {
		completeWords(root)
		return root
	}
	own := pflag.NewFlagSet("gpurun", pflag.ContinueOnError)
	flags.AddLauncher(own)
	line, err := torchrun.New().Split(a.Args[1:], own)
	var unknown *torchrun.UnknownFlagError
	if errors.As(err, &unknown) {
		return root // which says what is nearest
	}
	if err != nil || launches(root, line) {
		return newLaunchCommand(a)
	}
	return root
}

// launches reports whether a command line launches a program: what follows the
// flags is none of gpurun's own commands, or is said to be something else.
func launches(root *cobra.Command, line torchrun.Line) bool {
	switch {
	case len(line.Words) == 0:
		return false
	case line.Dashed, line.Has("module"), line.Has("no-python"), line.Has("run-path"):
		return true
	}
	word := line.Words[0]
	own, _, err := root.Find([]string{word})
	return (err != nil || own == root) && word != "help" && word != "completion" && !strings.HasPrefix(word, "__") && launchable(word)
}

// launchable reports whether a bare word names a program or script, if only one that is missing, rather
// than a collective that was misspelt.
func launchable(word string) bool {
	if strings.HasSuffix(word, ".py") || strings.Contains(word, "/") {
		return true
	}
	if _, err := exec.LookPath(word); err == nil {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}
