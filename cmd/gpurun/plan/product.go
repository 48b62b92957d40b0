package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/jobs"
	"gpurun/cmd/gpurun/placement"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/kernels/matmul"
	"gpurun/worker/workload"
)

// Product is products of matrices that are about to run.
type Product struct {
	session.Run
	What    *matmul.Operation
	Sources *sources.Sources // says where the settings come from
}

// NewProduct plans products by the flags of a command, with failures made on purpose if any,
// and checks that the files that are asked for can be written.
func NewProduct(ctx context.Context, f *pflag.FlagSet, what *matmul.Operation, why Purpose, inject []workload.Injection) (*Product, error) {
	p := &Product{What: what}
	var err error
	p.Sources, err = why.settle(ctx, &p.Run, func(profiles [][]byte) (*sources.Sources, error) {
		return p.read(profiles, f, inject)
	})
	if err != nil {
		return nil, err
	}
	p.leaveOut()
	if err := check(&p.Run); err != nil {
		return nil, err
	}
	return p, p.Config.CheckFiles(p.Config.Trace)
}

// read turns flags, environment and file into the job.
func (p *Product) read(profiles [][]byte, f *pflag.FlagSet, inject []workload.Injection) (*sources.Sources, error) {
	s, err := sources.Load(f, profiles...)
	if err != nil {
		return nil, err
	}
	oneMachine := p.What.Name + " shares memory, and so runs within one machine"
	if err := placement.CheckAlone(s, oneMachine); err != nil {
		return nil, err
	}
	if p.Config, err = settings.Read(s); err != nil {
		return nil, err
	}
	if p.Config.NNodes > 1 || p.Config.NodeRank > 0 {
		return nil, s.Blame("nnodes", errors.New(oneMachine))
	}
	p.Config.Explain = false // for collectives; a file or the environment may have it all the same
	p.Job, err = jobs.Product(s, p.Config, p.What, inject)
	return s, err
}

// leaveOut drops those of "all" algorithms that cannot do some of the job, and notes
// why; what the devices cannot do is left out by the workers.
func (p *Product) leaveOut() {
	if !slices.Contains(p.Config.Algo, settings.All) {
		return
	}
	var kept, dropped []string
	for _, name := range p.Job.Algorithms {
		job := p.Job
		job.Algorithms, job.Inject = []string{name}, nil
		named := slices.Contains(p.Config.Algo, name)
		if err := job.Check(p.Machine.Ranks); err != nil && !named && name != Naive {
			dropped = append(dropped, fmt.Sprintf("%s (%v)", name, err))
			continue
		}
		if kept = append(kept, name); !named {
			p.Job.Optional = append(p.Job.Optional, name)
		}
	}
	p.Job.Algorithms, p.LeftOut = kept, strings.Join(dropped, ", ")
}
