package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/kernels"
	"gpurun/kernels/matmul"
)

const rootLong = `gpurun launches one process per GPU. The processes find each other, share memory,
run a collective on all GPUs, and prove the answer; without a GPU the same kernels
run in a simulator. It needs the NVIDIA driver and nothing else. It also launches
any other command, as torchrun does.

Every flag of a run but --inject can also stand in the environment, as GPURUN_NPROC_PER_NODE for
--nproc-per-node, or in a file given with --config; a flag wins over the
environment, and that over the file. torchrun's flags can stand in the environment,
as PET_MAX_RESTARTS or GPURUN_MAX_RESTARTS, but in no file. What nobody says about
machines is what srun says, if it has started gpurun.`

const rootExample = `  gpurun allreduce                                  on all GPUs, 1K to 64M
  gpurun --nproc-per-node 8 allreduce -b 1K -e 1G -f 2 -d half,bfloat16
  gpurun allreduce --algo all --output json
  gpurun --nproc-per-node 4 train.py --epochs 3     python3 -u train.py, four times
  gpurun --nproc-per-node 4 -- ./program --flag     any command, words as they are
  gpurun --nproc-per-node auto --max-restarts 3 --log-dir logs --tee 3 train.py
                                                    torchrun's flags work as they stand
  gpurun --nnodes 2 --node-rank 1 --master-addr 192.0.2.7 --rdzv-token-file FILE allreduce
                                                    on two machines; this is the second
  srun --ntasks-per-node=1 gpurun --nproc-per-node gpu train.py
                                                    on all nodes of a Slurm job
  gpurun --nproc-per-node 4 allgather-matmul        gather a matrix, and multiply it meanwhile
  gpurun tune -o table.toml                         measure what is the fastest here
  gpurun bench allreduce --against nccl             algorithms side by side
  gpurun doctor                                     what is wrong with this machine
  gpurun smoke                                      is it right, and as fast as it should be?
  gpurun list                                       what there is to run`

func newRootCommand(a *program.Invocation) *cobra.Command {
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
				return exit.Usagef("nothing to run: name a collective (gpurun list has them), a script, -m MODULE, or -- COMMAND")
			default:
				cmd.SetOut(a.Err)
				return cmp.Or(cmd.Help(), error(&exit.Error{Code: exit.Usage}))
			}
		},
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	root.SetFlagErrorFunc(explainFlagError)
	showDefaultsInHelp(root)
	// What follows the first word belongs to the command that it names.
	root.Flags().SetInterspersed(false)
	flags.AddLauncher(root.PersistentFlags())
	root.Flags().AddFlagSet(torchrun.New().Flags())
	for _, c := range kernels.Collectives() {
		root.AddCommand(newCollectiveCommand(a, c))
	}
	products := matmul.Operations()
	for _, o := range products {
		root.AddCommand(newProductCommand(a, o))
	}
	root.AddCommand(newTuneCommand(a), newBenchCommand(a, products), newCompareCommand(a), newDoctorCommand(a), newSmokeCommand(a), newListCommand(a), newVersionCommand(a))
	refuseUnknownTopics(root)
	return root
}

// refuseLauncherFlags keeps flags about how to launch from commands that launch
// nothing.
func refuseLauncherFlags(cmd *cobra.Command) (err error) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			err = hinted(exit.Usagef("--%s means nothing to %s, which launches nothing", f.Name, cmd.Name()), cmd)
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
	return hinted(phrase.Unknown("collective or command", word, valid), cmd)
}

// explainFlagError turns what pflag says about a command line into a usage
// error with the nearest flag.
func explainFlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return hinted(&exit.UsageError{Err: err}, cmd)
	}
	if what, ok := kernels.Find(cmd.Name()); ok {
		if text := flags.NoSuch(what, missing.GetSpecifiedName()); text != "" {
			return hinted(exit.Usagef("%s", text), cmd)
		}
	}
	if short := missing.GetSpecifiedShortnames(); short != "" {
		return hinted(exit.Usagef("unknown flag -%s%s", missing.GetSpecifiedName(), instead(missing.GetSpecifiedName())), cmd)
	}
	if cmd.HasParent() && torchrun.New().Flags().Lookup(missing.GetSpecifiedName()) != nil {
		return hinted(exit.Usagef("--%s is for programs that gpurun launches, and %s is a command of its own", missing.GetSpecifiedName(), cmd.Name()), cmd)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	text := "unknown flag --" + missing.GetSpecifiedName()
	if best := phrase.Nearest(missing.GetSpecifiedName(), names); best != "" {
		text += "; did you mean --" + best + "?"
	}
	return hinted(exit.Usagef("%s", text), cmd)
}

// instead names gpurun's word for a flag of nccl-tests that it does without.
func instead(shorthand string) string {
	switch shorthand {
	case "g", "t":
		return "; the number of GPUs is --nproc-per-node"
	}
	return ""
}

// hinted makes a usage error that says where the command's usage stands.
func hinted(err error, cmd *cobra.Command) error {
	return &exit.UsageError{Err: err, Hint: hint(cmd)}
}

// hint says where the command's usage stands.
func hint(cmd *cobra.Command) string { return "Run '" + cmd.CommandPath() + " --help' for usage." }
