package main

import (
	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/tune"
	"gpurun/kernels/matmul"
)

const tuneLong = `tune measures every algorithm that can run here, but for naive and those that cannot run
in place where others can, with grids of 1 to 128 blocks, and
writes which was the fastest for what: a table that --tuning makes "auto" go by. Without
a name it measures all collectives. Every algorithm and grid is verified first; what a short look
finds to take twice as long as another is not measured further.

With --epilogue it measures calls with these epilogues instead of plain ones, which the word
none adds. Of several lengths of rows in --hidden the first stands for any; another gets rules
of its own only up to the last size where those of the first cost it more than 2%.

The calls are replayed from a graph. The table is TOML, with all medians as
comments at its end. In the simulator the times mean nothing.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 128+n signal n.`

const tuneExample = `  gpurun tune -o h200.toml
  gpurun --nproc-per-node 2 tune allreduce -b 1K -e 4M -f 2
  gpurun tune allreduce --epilogue none,rmsnorm --hidden 4096,8192 -f 2 -o norm.toml
  gpurun allreduce --tuning h200.toml --explain`

const tuneCommand = "tune"

func newTuneCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     tuneCommand + " [COLLECTIVE...]",
		Short:   "Measure which algorithm is the fastest for what, for --tuning",
		Long:    tuneLong,
		Example: tuneExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return outcome.Annotated(a, "gpurun "+tuneCommand, a.Guarded(func() error {
				for _, word := range words {
					if _, ok := matmul.Find(word); ok {
						return hinted(exit.Usagef("tune measures no products of matrices: %s goes by an estimate; bench %s measures its algorithms", word, word), cmd)
					}
				}
				collectives, err := collectivesNamed(words)
				if err != nil {
					return hinted(err, cmd)
				}
				return tune.Run(cmd.Context(), a, cmd.Flags(), collectives)
			}))
		},
	}
	tune.AddFlags(cmd.Flags())
	return cmd
}
