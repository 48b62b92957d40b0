package main

import (
	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/tune"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

const tuneLong = `tune measures the algorithms of a collective on this machine, with grids of 1 to 128 blocks,
and writes a table of the fastest ones. --tuning FILE makes --algo auto use the table. Without
a name tune measures all collectives. It leaves out naive, and algorithms that cannot run in
place if others can. Every algorithm and grid is verified first. A candidate whose first
samples take twice as long as the fastest one's is not measured further.

With --epilogue tune measures calls with these epilogues instead of plain calls; the word
none adds plain calls. If --hidden has several row lengths, the rules of the first one hold
for any length. Another length gets rules of its own, up to the last size at which the rules
of the first one are more than 2% slower.

A kernel file is measured beside gpurun's algorithms, if its grid depends on blocks. Rules of
the table may name it; auto follows them where --algo names the file too.

Calls are replayed from a graph. The table is TOML, with all medians as comments at its
end. Times in the simulator say nothing about hardware.

` + exitCodes

const tuneExample = `  gpurun tune -o h200.toml
  gpurun --nproc-per-node 2 tune allreduce -b 1K -e 4M -f 2
  gpurun tune allreduce --epilogue none,rmsnorm --hidden 4096,8192 -f 2 -o norm.toml
  gpurun tune mine.toml -o mine.tuning.toml            a kernel of yours
  gpurun allreduce --tuning h200.toml --explain`

const tuneCommand = "tune"

func newTuneCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     tuneCommand + " [COLLECTIVE...] [KERNEL FILE...]",
		Short:   "Measure which algorithms are fastest, and write a table for --tuning",
		Long:    tuneLong,
		Example: tuneExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return outcome.Annotated(a, "gpurun "+tuneCommand, a.Guarded(func() error {
				for _, word := range words {
					if _, ok := matmul.Find(word); ok {
						return usageError(exit.Usagef("tune does not measure products of matrices: auto chooses %s's algorithm by an "+
							"estimate; gpurun bench %s measures its algorithms", word, word), cmd)
					}
				}
				named, files := splitKernelFiles(words)
				var collectives []*collective.Collective
				if len(files) == 0 || len(named) > 0 {
					var err error
					if collectives, err = collectivesNamed(named); err != nil {
						return usageError(err, cmd)
					}
				}
				return tune.Run(cmd.Context(), a, cmd.Flags(), collectives, files)
			}))
		},
	}
	cmd.ValidArgsFunction = completeCollectives
	takeOneMachine(cmd)
	showDefaultsOf(cmd, tune.PlanOptions())
	tune.AddFlags(cmd.Flags())
	return cmd
}

// splitKernelFiles separates names of collectives from paths of kernel files.
func splitKernelFiles(words []string) (named, files []string) {
	for _, word := range words {
		if kernelfile.IsPath(word) {
			files = append(files, word)
		} else {
			named = append(named, word)
		}
	}
	return named, files
}
