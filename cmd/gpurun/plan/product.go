package plan

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/matmul"
	"gpurun/worker/workload"
)

// ProductRun is products of matrices that are about to run.
type ProductRun struct {
	Plan
	Operation *matmul.Operation
}

// NewProduct plans products by the flags of a command, with injected faults if any, and
// checks that the files that are asked for can be written.
func NewProduct(ctx context.Context, f *pflag.FlagSet, what *matmul.Operation, o Options,
	inject []workload.Injection,
) (*ProductRun, error) {
	p := &ProductRun{Operation: what}
	o.OneHost = what.Name + " shares memory, and so runs within one machine"
	o.Override = func(c *settings.Config) { c.Explain = false } // it is for collectives
	err := p.settle(ctx, f, o, func(s *settings.Sources, c settings.Config) (workload.Job, error) {
		return productJob(s, c, what, inject)
	})
	if err != nil {
		return nil, err
	}
	if err := p.loadKernelFiles(ctx, f, o); err != nil {
		return nil, err
	}
	if err := p.leaveOut(p.unsupported); err != nil {
		return nil, err
	}
	if err := cmp.Or(p.check(), p.rehearse()); err != nil {
		return nil, err
	}
	return p, p.checkFiles(p.Config.Trace)
}

// unsupported says why an algorithm cannot do some of the job. The workers leave out what the
// devices cannot do.
func (p *ProductRun) unsupported(name string) string {
	job := p.Job
	job.Algorithms, job.Inject = []string{name}, nil
	if err := job.Check(p.Host.Ranks); err != nil && name != Naive {
		return err.Error()
	}
	return ""
}
