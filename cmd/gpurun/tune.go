package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
	"gpurun/worker/result"
)

const tuneLong = `tune measures every algorithm that can run here, but for naive and those that cannot run
in place where others can, with grids of 1 to 128 blocks, and
writes which was the fastest for what: a table that --tuning makes "auto" go by. Without
a name it measures all collectives. Every algorithm and grid is verified first; what a short look
finds to take twice as long as another is not measured further.

The calls are replayed from a graph. The table is TOML, with all medians as
comments at its end. In the simulator the times mean nothing.`

const tuneExample = `  gpurun tune -o h200.toml
  gpurun --nproc-per-node 2 tune allreduce -b 1K -e 4M -f 2
  gpurun allreduce --tuning h200.toml --explain`

const tuneCommand = "tune"

// tableFlag names the file to write.
const tableFlag = "output-table"

func newTuneCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     tuneCommand + " [COLLECTIVE...]",
		Short:   "Measure which algorithm is the fastest for what, for --tuning",
		Long:    tuneLong,
		Example: tuneExample,
		RunE: func(cmd *cobra.Command, words []string) error {
			return outcome.Annotated(a, "gpurun "+tuneCommand, a.Guarded(func() error {
				t, err := planTuning(cmd, words)
				if err != nil {
					return err
				}
				return t.run(cmd.Context(), a)
			}))
		},
	}
	flags.AddOnly(cmd.Flags(), "minbytes", "maxbytes", "stepbytes", "stepfactor", "iters", "warmup-iters", "cudagraph", "datatype", "timeout",
		"max-blocks", "pdl", "p2p", "multicast", "symm", "nvshmem-lib", "sim-seed")
	cmd.Flags().Lookup("datatype").Usage = "element `type` of the calls"
	cmd.Flags().StringP(tableFlag, "o", "", "write the table to this `file` instead of stdout")
	return cmd
}

// tuningRun is a measurement of collectives that is about to begin.
type tuningRun struct {
	file string // to write; empty is stdout
	runs []tuned
}

// planTuning checks everything that can be checked beforehand.
func planTuning(cmd *cobra.Command, words []string) (*tuningRun, error) {
	t := &tuningRun{}
	var err error
	if t.file, err = cmd.Flags().GetString(tableFlag); err != nil {
		return nil, err
	}
	if t.file != "" {
		if err := result.CheckFile(t.file); err != nil {
			return nil, &exit.UsageError{Err: err}
		}
	}
	collectives, err := collectivesNamed(words)
	if err != nil {
		return nil, hinted(err, cmd)
	}
	why := plan.Purpose{
		Profiles: [][]byte{configs.Tune}, Force: forceTuning,
		OneMachine: "a table is measured within one machine", List: sync.OnceValues(machine.GPUs),
	}
	for _, what := range collectives {
		p, err := plan.NewCollective(cmd.Context(), cmd.Flags(), what, why, nil)
		if err != nil {
			return nil, err
		}
		if len(p.Job.DTypes) > 1 {
			return nil, exit.Usagef("a table is measured with one type, not with %s", strings.Join(p.Job.DTypes, ", "))
		}
		t.runs = append(t.runs, tuned{p})
	}
	return t, nil
}

// forceTuning keeps what a configuration says about usual runs out of tables:
// they are of plain calls by any algorithm.
func forceTuning(c *settings.Config) {
	c.Algo, c.Op, c.Epilogue = []string{settings.All}, []string{string(collective.Sum)}, settings.None
	c.Tuning, c.Explain, c.Timing, c.Blocks, c.Root, c.RunCycles, c.Unaligned = settings.None, false, false, 0, 0, 1, false
}

// collectivesNamed finds collectives; no name stands for all.
func collectivesNamed(words []string) ([]*collective.Collective, error) {
	if len(words) == 0 {
		return kernels.Collectives(), nil
	}
	var found []*collective.Collective
	for _, word := range words {
		what, ok := kernels.Find(word)
		if !ok {
			return nil, phrase.Unknown("collective", word, collectiveNames())
		}
		if !slices.ContainsFunc(found, func(c *collective.Collective) bool { return c.Name == what.Name }) {
			found = append(found, what)
		}
	}
	return found, nil
}

func collectiveNames() []string {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return names
}

// run measures one collective after the other and writes the table.
func (t *tuningRun) run(ctx context.Context, a *program.Invocation) error {
	progress := session.NewProgress(a.Err)
	defer progress.Clear()
	var samples []tuning.Sample
	var table tuning.Table
	for i, p := range t.runs {
		if i > 0 {
			p.Machine.Notice = "" // it has been said
		}
		report, err := p.tune(ctx, a, progress)
		if err != nil {
			return err
		}
		if i == 0 || !p.What.Shape.Empty { // what moves nothing does not know the type
			if table, err = tableHead(report, p.Job.DTypes[0]); err != nil {
				return err
			}
		}
		samples = append(samples, p.samples(report.Results)...)
	}
	progress.Clear()
	table.Rules = tuning.Rules(samples)
	text, err := tuning.Format(table, samples)
	if err != nil {
		return err
	}
	if t.file == "" {
		_, err = a.Out.Write(text)
		return err
	}
	return os.WriteFile(t.file, text, 0o644)
}

// tableHead says where a table was measured: on devices of one model.
func tableHead(r result.Report, dtype string) (tuning.Table, error) {
	d := r.Devices[0]
	for _, other := range r.Devices {
		if other.Name != d.Name {
			return tuning.Table{}, &exit.EnvironmentError{Err: fmt.Errorf(
				"a table is for one model of GPU, and there are %s and %s; CUDA_VISIBLE_DEVICES chooses some", d.Name, other.Name)}
		}
	}
	return tuning.Table{
		GPU: d.Name, Compute: fmt.Sprintf("%d.%d", d.Major, d.Minor), Driver: d.Driver,
		Measured: time.Now().Format(time.DateOnly), DType: dtype,
	}, nil
}
