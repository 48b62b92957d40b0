package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/cmd/gpurun/torchrun"
)

const rootLong = `gpurun launches one process per GPU. The processes find each other, share memory,
run a collective on all GPUs, and verify the result. Without a GPU the same kernels
run in a simulator. gpurun needs the NVIDIA driver and nothing else. It also launches
any other command, as torchrun does.

A setting is a flag, a variable such as GPURUN_NPROC_PER_NODE for --nproc-per-node, or
a key in the file that --config names. A flag overrides the variable, and the variable
overrides the file. --inject and --skew are flags only. torchrun's flags are also read from
variables, such as PET_MAX_RESTARTS or GPURUN_MAX_RESTARTS, but not from the file.
Machine options that are not set default to Slurm's, when srun started gpurun.`

const rootExample = `  gpurun allreduce                                  on all GPUs, 1K to 64M
  gpurun --nproc-per-node 8 allreduce -b 1K -e 1G -f 2 -d half,bfloat16
  gpurun allreduce --algo all --output json
  gpurun --nproc-per-node 4 train.py --epochs 3     python3 -u train.py, four times
  gpurun --nproc-per-node 4 -- ./program --flag     any command, its arguments unchanged
  gpurun --nproc-per-node auto --max-restarts 3 --log-dir logs --tee 3 train.py
                                                    torchrun's flags
  gpurun --nnodes 2 --node-rank 1 --master-addr 192.0.2.7 --rdzv-token-file FILE allreduce
                                                    on two machines; this is the second
  srun --ntasks-per-node=1 gpurun --nproc-per-node gpu train.py
                                                    on all nodes of a Slurm job
  gpurun --nproc-per-node 4 allgather-matmul        gather a matrix, and multiply it meanwhile
  gpurun tune -o table.toml                         find the fastest algorithms on these GPUs
  gpurun bench allreduce --against nccl             compare algorithms
  gpurun doctor                                     check this machine's driver, GPUs and links
  gpurun smoke                                      check that results are right and fast enough
  gpurun list                                       list collectives and algorithms`

// newRootCommand makes gpurun with all its commands.
func newRootCommand(a *program.Invocation) *cobra.Command { return newRootWith(a, commands(a)) }

// newRootWith makes gpurun with some of its commands.
func newRootWith(a *program.Invocation, some []command) *cobra.Command {
	root := &cobra.Command{
		Use: `gpurun [launcher flags] COLLECTIVE [flags]
  gpurun [launcher flags] SCRIPT.py|COMMAND [args]
  gpurun [launcher flags] -m MODULE [args]
  gpurun [launcher flags] -- COMMAND [args]`,
		Short:         "Run collectives and other programs on all GPUs",
		Long:          rootLong,
		Example:       rootExample,
		Version:       program.Version(),
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, words []string) error {
			switch {
			case len(words) > 0:
				return unknownCommand(cmd, words[0])
			case len(a.Args) > 1:
				return exit.Usagef("nothing to run: give a collective (gpurun list shows them), a script, -m MODULE, or -- COMMAND")
			default:
				cmd.SetOut(a.Err)
				return cmp.Or(cmd.Help(), error(&exit.Error{Code: exit.Usage}))
			}
		},
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return prepare(a, cmd) }
	showDefaultsInHelp(root)
	// What follows the first word belongs to the command that it names.
	root.Flags().SetInterspersed(false)
	flags.AddLauncher(root.PersistentFlags())
	root.PersistentFlags().String(colorFlag, terminal.Auto,
		"colors of verdicts, `auto|always|never`; auto: on a terminal")
	root.Flags().AddFlagSet(torchrun.New().Flags())
	flags.AddCommand(root.Flags())
	addGroups(root)
	for _, c := range some {
		made := c.make()
		made.GroupID = c.group
		root.AddCommand(made)
	}
	refuseUnknownTopics(root)
	return root
}
