package main

import (
	"cmp"
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/phrase"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/worker"
)

// compareWithNCCL adds NCCL to what is measured on GPUs, where nobody says which
// algorithms to measure: it is what most would use instead. Where it cannot take part,
// that is noted with the reason.
func (b *benchRun) compareWithNCCL(open worker.OpenLibrary) {
	a, ok := b.what.Algorithm(libraries.NCCLName)
	if !ok || b.machine.Backend == "sim" || b.settings.Source("algo") != "" {
		return
	}
	why := cmp.Or(b.machine.Cannot(a, b.job), b.machine.ShareGPUs())
	if why == "" {
		why = b.lackingInNCCL(open)
	}
	if why != "" {
		b.remark = fmt.Sprintf("%s is not compared with: %s", a.Name, why)
		return
	}
	b.added = true
	b.job.Algorithms = append(slices.Clone(b.job.Algorithms), a.Name)
	b.job.Optional = append(slices.Clone(b.job.Optional), a.Name)
}

// lackingInNCCL says why the library cannot do the job, or returns "".
func (b *benchRun) lackingInNCCL(open worker.OpenLibrary) string {
	l, err := open(b.config.NCCLLib)
	if err != nil {
		return phrase.OneLine(err)
	}
	for _, name := range b.job.DTypes {
		d, _ := collective.ParseDType(name)
		for _, op := range b.job.Ops {
			if err := l.Supports(b.what.Name, d, collective.Op(op)); err != nil {
				return phrase.OneLine(err)
			}
		}
	}
	return ""
}
