package bench

import (
	"cmp"
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/worker/library"
)

// compareWithNCCL adds NCCL to the algorithms on GPUs if --algo is not set, because most programs use NCCL. If NCCL
// cannot be measured, it stores the reason.
func (b *Run) compareWithNCCL(open library.Open) {
	a, ok := b.Collective.Algorithm(libraries.NCCLName)
	if !ok || b.Host.Backend == "sim" || b.Sources.Source("algo") != "" {
		return
	}
	why := cmp.Or(b.Host.Unsupported(a, b.Job), b.Host.ShareGPUs())
	if why == "" {
		why = b.lackingInNCCL(open)
	}
	if why != "" {
		b.Remark = fmt.Sprintf("%s is not measured: %s", a.Name, why)
		return
	}
	b.added = true
	b.Job.Algorithms = append(slices.Clone(b.Job.Algorithms), a.Name)
	b.Job.Optional = append(slices.Clone(b.Job.Optional), a.Name)
}

// lackingInNCCL says why the library cannot do the job, or returns "".
func (b *Run) lackingInNCCL(open library.Open) string {
	l, err := open(b.Config.NCCLLib)
	if err != nil {
		return suggest.OneLine(err)
	}
	for _, name := range b.Job.DTypes {
		d, _ := collective.ParseDType(name)
		for _, op := range b.Job.Ops {
			if err := l.Supports(b.Collective.Name, d, collective.Op(op)); err != nil {
				return suggest.OneLine(err)
			}
		}
	}
	return ""
}
