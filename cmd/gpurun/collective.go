package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/collective"
	"gpurun/worker"
	"gpurun/worker/phases"
)

func newCollectiveCommand(a *program.Invocation, what *collective.Collective) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what.Name,
		Aliases: what.Aliases,
		Short:   "Run and verify " + what.Name + ": " + what.Summary,
		Long:    collectiveLong(what),
		Example: strings.Join(collectiveExamples(what), "\n"),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return annotated(a, "gpurun "+what.Name, runCollective(cmd, a, what))
		},
	}
	flags.AddCollective(cmd.Flags(), what)
	return cmd
}

func collectiveLong(what *collective.Collective) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s. %s\n\nAlgorithms:\n", what.Name, what.Summary, howVerified(what.Shape))
	for _, algorithm := range what.Algorithms {
		fmt.Fprintf(&b, "  %-16s %s\n", algorithm.Name, algorithm.Summary)
	}
	b.WriteString(`
The times printed are medians, of the slowest rank.

Exit codes: 0 all verified; 1 wrong data; 2 usage; 3 environment (no or too few
GPUs); 4 timeout or hang; 5 a worker died; 6 the ranks did not meet; 99 right but
too slow for a threshold; 128+n signal n.`)
	return b.String()
}

// howVerified says what a run proves.
func howVerified(s collective.Shape) string {
	const compared = "every\nelement of every rank is compared before and after timing."
	if s.Empty {
		return "Behind\nthe barrier every rank must find what all have written before it, also when one is late."
	}
	if _, _, _, ok := s.InPlace(0); !ok {
		return "Every size runs out of place; " + compared
	}
	return "Every size runs out of place and,\nwhere the algorithm can, in place; " + compared
}

func collectiveExamples(what *collective.Collective) []string {
	launcher, name := "  gpurun --nproc-per-node 4 "+what.Name, "  gpurun "+what.Name
	if what.Shape.Empty {
		return []string{name + " --algo all", launcher + " -n 100 -G 10", "  gpurun --device sim " + what.Name + " --inject hang:rank=1   see it fail"}
	}
	lines := []string{
		name + " -b 8 -e 128M -f 2",
		launcher + " -d half,bfloat16 --algo all -J results.json",
		name + " -b 28 -e 28 -n 100 -G 10                         small calls, replayed from a graph",
		name + " --explain                                        what auto takes, and why",
		"  gpurun --device sim " + what.Name + " --inject corrupt:rank=0,byte=8      see it fail",
	}
	if flags.HasEpilogues(what) {
		lines = append(lines, name+" -d bfloat16 --epilogue rmsnorm --hidden 8192")
	}
	return lines
}

// runCollective checks, in the agent, everything that can be checked beforehand, and
// then runs the collective.
func runCollective(cmd *cobra.Command, a *program.Invocation, what *collective.Collective) error {
	return a.Guarded(func() error {
		p, err := planRun(cmd, what)
		if err != nil {
			return unable(a, "gpurun "+what.Name, cmd, err)
		}
		return p.run(cmd.Context(), a)
	})
}

// planRun decides what runs where.
func planRun(cmd *cobra.Command, what *collective.Collective) (*collectiveRun, error) {
	inject, err := flags.Injections(cmd.Flags())
	if err != nil {
		return nil, err
	}
	p, err := planRunFor(purpose{}, cmd, what, inject)
	if err != nil {
		return nil, err
	}
	if p.gate, err = p.settings.Thresholds(p.config); err != nil {
		return nil, err
	}
	return p, p.config.CheckFiles()
}

// purpose is what commands that run collectives differ in.
type purpose struct {
	profiles [][]byte // change defaults
	// simulator changes them further, and the simulator's own
	simulator [][]byte
	force     func(*settings.Config) // changes what no source may; nil changes nothing
	list      machine.Lister         // nil: the driver's own, each time anew
	// oneMachine says why the ranks cannot be on several machines; empty: they can.
	oneMachine string
}

func (why purpose) lister() machine.Lister {
	if why.list == nil {
		return machine.GPUs
	}
	return why.list
}

// planRunFor plans a collective. Errors of usage come before those of the machine.
func planRunFor(why purpose, cmd *cobra.Command, what *collective.Collective, inject []worker.Injection) (*collectiveRun, error) {
	p := &collectiveRun{what: what}
	if err := p.plan(why, cmd, inject); err != nil {
		return nil, err
	}
	noted := phases.FromContext(cmd.Context())
	noted.Begin(phases.Find)
	var err error
	if p.machine, err = machine.Find(p.config, why.lister()); p.nodes.Several() {
		err = p.unfit(err)
	}
	if err != nil {
		return nil, p.settings.Blamed(err)
	}
	noted.Begin(phases.Prepare)
	if p.problem != nil {
		return p, nil // the other nodes are to hear of it
	}
	if p.machine.Backend == "sim" {
		why.profiles = slices.Concat(why.profiles, [][]byte{configs.Simulator}, why.simulator)
		if err := p.plan(why, cmd, inject); err != nil {
			return nil, err
		}
	}
	if err := p.leaveOut(); err != nil {
		return nil, err
	}
	return p, checkJob(p.job, p.world())
}

// plan turns flags, environment and file into the job.
func (p *collectiveRun) plan(why purpose, cmd *cobra.Command, inject []worker.Injection) error {
	s, err := settings.Load(cmd.Flags(), why.profiles...)
	if err != nil {
		return err
	}
	if why.oneMachine == "" {
		if p.remark, err = s.TakeStep(nil); err != nil {
			return err
		}
	}
	if p.config, err = s.Config(); err != nil {
		return err
	}
	if why.force != nil {
		why.force(&p.config)
	}
	p.settings = s
	if p.nodes, err = s.Placement(p.config); err != nil {
		return err
	}
	if p.nodes.Several() && why.oneMachine != "" {
		return s.Blame("nnodes", errors.New(why.oneMachine))
	}
	p.job, err = s.Job(p.config, p.what, inject)
	if p.nodes.Several() {
		p.job.Nodes = p.nodes.Count
	}
	return err
}
