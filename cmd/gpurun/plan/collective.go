package plan

import (
	"context"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// CollectiveRun is a collective that is about to run.
type CollectiveRun struct {
	Plan
	Collective *collective.Collective
}

// NewCollective plans a collective by the flags of a command, with injected faults if any.
// Its results are held against no thresholds, unless Judge is called.
func NewCollective(ctx context.Context, f *pflag.FlagSet, c *collective.Collective, o Options,
	inject []workload.Injection,
) (*CollectiveRun, error) {
	p := &CollectiveRun{Collective: c}
	if err := p.settle(ctx, f, o, p.job(inject)); err != nil {
		return nil, err
	}
	if p.Problem != nil {
		return p, nil // the other nodes are told
	}
	if err := p.loadKernelFiles(ctx, f, o); err != nil {
		return nil, err
	}
	if err := p.leaveOut(p.unsupported); err != nil {
		return nil, err
	}
	p.dropSizes()
	p.noteCut()
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, p.rehearse()
}

func (p *CollectiveRun) job(inject []workload.Injection) jobOf {
	return func(s *settings.Sources, c settings.Config) (workload.Job, error) {
		return collectiveJob(s, c, p.Collective, inject)
	}
}

// unsupported says why an algorithm cannot do the job on this host; auto always can.
func (p *CollectiveRun) unsupported(name string) string {
	if a, ok := p.Collective.Algorithm(name); ok {
		return p.Host.Unsupported(a, p.Job)
	}
	return ""
}

// Judge has the results held against thresholds, and checks that the files that are asked for
// can be written, and the further ones.
func (p *CollectiveRun) Judge(further ...string) (err error) {
	if p.Gate, err = Thresholds(p.Sources, p.Config); err != nil {
		return err
	}
	return p.checkFiles(further...)
}
