package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/jobs"
	"gpurun/cmd/gpurun/placement"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/cmd/gpurun/sources"
	"gpurun/cmd/gpurun/tables"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// Collective is a collective that is about to run.
type Collective struct {
	session.Run
	What    *collective.Collective
	Sources *sources.Sources // says where the settings come from
}

// NewCollective plans a collective by the flags of a command, with failures made on purpose
// if any. Its results are held against nothing, unless Judge is called.
func NewCollective(ctx context.Context, f *pflag.FlagSet, what *collective.Collective, why Purpose, inject []workload.Injection) (*Collective, error) {
	p := &Collective{What: what}
	var err error
	p.Sources, err = why.settle(ctx, &p.Run, func(profiles [][]byte) (*sources.Sources, error) {
		return p.read(why, profiles, f, inject)
	})
	if err != nil {
		return nil, err
	}
	if p.Problem != nil {
		return p, nil // the other nodes are to hear of it
	}
	if err := p.leaveOut(); err != nil {
		return nil, err
	}
	return p, check(&p.Run)
}

// read turns flags, environment and file into the job.
func (p *Collective) read(why Purpose, profiles [][]byte, f *pflag.FlagSet, inject []workload.Injection) (*sources.Sources, error) {
	s, err := sources.Load(f, profiles...)
	if err != nil {
		return nil, err
	}
	var step *slurm.Step
	if why.OneMachine == "" {
		step, p.Remark, err = placement.TakeStep(s, nil)
	} else {
		err = placement.CheckAlone(s, why.OneMachine)
	}
	if err != nil {
		return nil, err
	}
	if p.Config, err = settings.Read(s); err != nil {
		return nil, err
	}
	if why.Force != nil {
		why.Force(&p.Config)
	}
	if p.Nodes, err = placement.Read(s, p.Config, step); err != nil {
		return nil, err
	}
	if p.Nodes.Several() && why.OneMachine != "" {
		return nil, s.Blame("nnodes", errors.New(why.OneMachine))
	}
	p.Job, err = jobs.Collective(s, p.Config, p.What, inject)
	if p.Nodes.Several() {
		p.Job.Nodes = p.Nodes.Count
	}
	return s, err
}

// Judge has the results held against thresholds, and checks that the files that are asked for
// can be written, and the further ones.
func (p *Collective) Judge(further ...string) (err error) {
	if p.Gate, err = tables.Thresholds(p.Sources, p.Config); err != nil {
		return err
	}
	return p.Config.CheckFiles(further...)
}

// leaveOut drops those of "all" algorithms that cannot do the job here, and
// notes why. Algorithms that are named stay: they are errors if they cannot.
func (p *Collective) leaveOut() error {
	if !slices.Contains(p.Config.Algo, settings.All) {
		return nil
	}
	var kept, optional, dropped []string
	for _, name := range p.Job.Algorithms {
		a, ok := p.What.Algorithm(name)
		if !ok || slices.Contains(p.Config.Algo, name) {
			kept = append(kept, name)
			continue
		}
		if why := p.Machine.Cannot(a, p.Job); why != "" {
			dropped = append(dropped, name+" ("+why+")")
			continue
		}
		kept, optional = append(kept, name), append(optional, name)
	}
	p.LeftOut = strings.Join(dropped, ", ")
	if len(kept) == 0 {
		return exit.Usagef("no algorithm of %s can do this: %s", p.What.Name, p.LeftOut)
	}
	p.Job.Algorithms, p.Job.Optional = kept, optional
	return nil
}
