package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
)

const kernelLong = `A kernel file describes a kernel of yours: what it computes, where its code is, how it is
launched, which arguments it takes and what it promises. gpurun runs, verifies and measures
it as one of its own algorithms.

gpurun kernel FILE runs the collective that the file names. It is short for
gpurun COLLECTIVE --algo FILE, takes the same flags behind the file, and ends with the same
exit codes. To measure the kernel beside others: gpurun COLLECTIVE --algo FILE,auto,nccl.
--trace TIMELINE.json writes when each step of one call ran: its launches, fills, copies and
barriers.`

const kernelExample = `  gpurun kernel init oneshot.ptx                       draft oneshot.toml
  gpurun kernel show oneshot.toml --nproc-per-node 4   what every rank gets
  gpurun kernel oneshot.toml                           run and verify it
  gpurun --nproc-per-node 4 kernel oneshot.toml -e 1M
  gpurun kernel oneshot.toml -b 1M -e 1M --trace timeline.json`

const kernelCommand = "kernel"

func newKernelCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     kernelCommand + " FILE [flags of the collective]",
		Short:   "Run, draft and show kernels of yours, which kernel files describe",
		Long:    kernelLong,
		Example: kernelExample,
		// The flags are those of the collective, which the file names.
		DisableFlagParsing: true,
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		at := slices.IndexFunc(words, kernelfile.IsPath)
		switch {
		case at < 0 && slices.ContainsFunc(words, isHelp):
			return cmd.Help()
		case at < 0 && len(words) > 0 && suggest.File(words[0]) != "":
			return usageError(exit.Usagef("%s is no kernel file; %s", words[0], suggest.File(words[0])), cmd)
		case at < 0 && len(words) == 1 && !strings.HasPrefix(words[0], "-"):
			return usageError(suggest.Meant("kernel command", words[0], map[string]string{"init": "init", "show": "show"},
				"a kernel file ends in .toml, .yaml, .yml or .json"), cmd)
		case at < 0:
			return usageError(exit.Usagef("gpurun kernel needs a kernel file, such as oneshot.toml"), cmd)
		}
		return runKernelFile(cmd, a, words[:at], words[at], words[at+1:])
	}
	cmd.AddCommand(newKernelInitCommand(a), newKernelShowCommand(a))
	cmd.ValidArgsFunction = completeKernelFiles
	return cmd
}

func isHelp(word string) bool { return word == "-h" || word == "--help" }

// runKernelFile runs the collective of a kernel file: as gpurun BEFORE COLLECTIVE --algo FILE BEHIND.
func runKernelFile(cmd *cobra.Command, a *program.Invocation, before []string, path string, behind []string) error {
	f, _, err := kernelcode.Read(path)
	if err != nil {
		return err
	}
	isAlgo := func(word string) bool { return word == "--algo" || strings.HasPrefix(word, "--algo=") }
	switch given := slices.ContainsFunc(behind, isAlgo); {
	case given && f.Collective == kernelfile.Custom:
		return usageError(exit.Usagef("gpurun kernel runs one kernel file, and nothing else computes what %s does", path),
			cmd)
	case given:
		return usageError(exit.Usagef("gpurun kernel runs one kernel file; to run others beside it: gpurun %s --algo %s,...",
			f.Collective, path), cmd)
	}
	root := newRootCommand(a)
	if f.Collective == kernelfile.Custom {
		what, err := userkernel.Custom(nil)
		if err != nil {
			return err
		}
		root.AddCommand(newCollectiveCommand(a, what))
	}
	if _, _, err := root.Find([]string{f.Collective}); err != nil {
		return fmt.Errorf("%s: %w", path, unknownCommand(root, f.Collective))
	}
	root.SetArgs(slices.Concat(before, []string{f.Collective, "--algo", path}, behind))
	root.SetIn(cmd.InOrStdin())
	root.SetOut(cmd.OutOrStdout())
	root.SetErr(cmd.ErrOrStderr())
	return root.ExecuteContext(cmd.Context())
}

// completeKernelFiles offers kernel files, as a command's ValidArgsFunction.
func completeKernelFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"toml", "yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}
