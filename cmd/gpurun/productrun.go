package main

import (
	"context"
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
	"gpurun/kernels/matmul"
	"gpurun/worker"
	"gpurun/worker/phases"
	"gpurun/worker/result"
)

// productRun is products of matrices that are about to run.
type productRun struct {
	*collectiveRun
	operation *matmul.Operation
}

// runProduct checks, in the agent, everything that can be checked beforehand, and then
// runs the products.
func runProduct(cmd *cobra.Command, a *program.Invocation, what *matmul.Operation) error {
	return a.Guarded(func() error {
		p, err := planProductRun(cmd, what, false)
		if err != nil {
			return unable(a, "gpurun "+what.Name, cmd, err)
		}
		return p.run(cmd.Context(), a)
	})
}

// planProductRun decides what runs where. Errors of usage come before those of the
// machine.
func planProductRun(cmd *cobra.Command, what *matmul.Operation, bench bool) (*productRun, error) {
	p := &productRun{&collectiveRun{}, what}
	profiles, simulator := productProfiles(bench)
	if err := p.plan(cmd, profiles); err != nil {
		return nil, err
	}
	noted := phases.FromContext(cmd.Context())
	noted.Begin(phases.Find)
	var err error
	if p.machine, err = machine.Find(p.config, machine.GPUs); err != nil {
		return nil, p.settings.Blamed(err)
	}
	noted.Begin(phases.Prepare)
	if p.machine.Backend == "sim" {
		if err := p.plan(cmd, slices.Concat(profiles, [][]byte{configs.Simulator}, simulator)); err != nil {
			return nil, err
		}
	}
	if bench {
		p.job.Rounds = p.config.Rounds
	}
	if err := p.leaveOut(); err != nil {
		return nil, err
	}
	if err := checkJob(p.job, p.machine.Ranks); err != nil {
		return nil, err
	}
	return p, p.config.CheckFiles(p.config.Trace)
}

// plan turns flags, environment and file into the job.
func (p *productRun) plan(cmd *cobra.Command, profiles [][]byte) (err error) {
	if p.settings, err = settings.Load(cmd.Flags(), profiles...); err != nil {
		return err
	}
	if p.config, err = p.settings.Config(); err != nil {
		return err
	}
	if p.config.NNodes > 1 || p.config.NodeRank > 0 {
		return p.settings.Blame("nnodes", errors.New(p.operation.Name+" shares memory, and so runs within one machine"))
	}
	c := &p.config
	c.Explain = false // for collectives; a file or the environment may have it all the same
	var inject []worker.Injection
	if cmd.Flags().Lookup("inject") != nil {
		if inject, err = flags.Injections(cmd.Flags()); err != nil {
			return err
		}
	}
	p.job, err = p.settings.ProductJob(*c, p.operation, inject)
	return err
}

// leaveOut drops those of "all" algorithms that cannot do some of the job, and notes
// why; what the devices cannot do is left out by the workers.
func (p *productRun) leaveOut() error {
	if !slices.Contains(p.config.Algo, settings.All) {
		return nil
	}
	var kept, dropped []string
	for _, name := range p.job.Algorithms {
		job := p.job
		job.Algorithms, job.Inject = []string{name}, nil
		named := slices.Contains(p.config.Algo, name)
		if err := job.Check(p.machine.Ranks); err != nil && !named && name != naive {
			dropped = append(dropped, fmt.Sprintf("%s (%v)", name, err))
			continue
		}
		if kept = append(kept, name); !named {
			p.job.Optional = append(p.job.Optional, name)
		}
	}
	p.job.Algorithms, p.leftOut = kept, strings.Join(dropped, ", ")
	return nil
}

// run prints the results as they come, and says how it ended.
func (p *productRun) run(ctx context.Context, a *program.Invocation) error {
	progress := newProgress(a.Err)
	defer progress.clear()
	renderer, err := result.NewProductRenderer(result.Format(p.config.Output), progress.beside(a.Out))
	if err != nil {
		return err
	}
	return p.runWith(ctx, a, "gpurun "+p.operation.Name, renderer, progress)
}

// runWith measures, and publishes the report.
func (p *productRun) runWith(ctx context.Context, a *program.Invocation, title string, renderer result.Renderer, progress *progress) error {
	report, err := p.measure(ctx, a, renderer, progress)
	sayNote(progress.beside(a.Err), report)
	return endedWith(a, err, publish(a, title, p.config, report))
}
