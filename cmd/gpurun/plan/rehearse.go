package plan

import (
	"cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
)

// usualSMs are the multiprocessors of devices that are not known yet: those of an H100.
const usualSMs = 132

// rehearse binds the job's calls by kernel files for every rank, at made-up addresses. An expression that fails for one
// rank is found so, and an argument that does not fit, before a process is started.
func (p *CollectiveRun) rehearse() error {
	for _, b := range p.Job.KernelFiles {
		f, err := kernelfile.Parse(b.Path, b.Text)
		if err != nil {
			return &exit.UsageError{Err: err}
		}
		planned, err := p.Job.Plan(p.World())
		if err != nil {
			return &exit.UsageError{Err: err}
		}
		for _, call := range planned.Calls(b.Path) {
			for _, inPlace := range []bool{false, true} {
				if err := p.rehearseCall(f, b, call, inPlace); err != nil {
					return &exit.UsageError{Err: err}
				}
			}
		}
	}
	return nil
}

// rehearseCall binds one call for every rank, if it is one that the file takes.
func (p *CollectiveRun) rehearseCall(f *kernelfile.File, b *kernelfile.Bundle, call collective.Call,
	inPlace bool,
) error {
	shape, world := p.Collective.Shape, p.World()
	if _, _, _, can := shape.InPlace(0); inPlace && (!can || f.Collective == kernelfile.Custom) || call.Count == 0 {
		return nil
	}
	values := kernelfile.Call{
		World: world, Root: call.Root, Type: call.DType.Name, Op: string(call.Op), ElementBytes: int64(call.DType.Size),
		Count: call.Count, InPlace: inPlace, Blocks: call.Blocks,
		InputBytes: call.Bytes() * shape.Send.Of(world), OutputBytes: call.Bytes() * shape.Recv.Of(world),
	}
	return p.bindForAll(f, b, values)
}

// rehearse binds the job's products by kernel files for every rank, likewise.
func (p *ProductRun) rehearse() error {
	planned, err := p.Job.Plan(p.World())
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	for _, b := range p.Job.KernelFiles {
		f, err := kernelfile.Parse(b.Path, b.Text)
		if err != nil {
			return &exit.UsageError{Err: err}
		}
		for _, problem := range planned.ProblemsOf(b.Path) {
			values := userkernel.ProductValues(p.Operation, problem, p.World())
			if err := p.bindForAll(f, b, values); err != nil {
				return &exit.UsageError{Err: err}
			}
		}
	}
	return nil
}

// bindForAll binds a call for every rank, if it is one that the file takes.
func (p *Plan) bindForAll(f *kernelfile.File, b *kernelfile.Bundle, values kernelfile.Call) error {
	values.SMs, values.TimeoutNS = cmp.Or(p.Host.SMs, usualSMs), p.Job.Timeout.Nanoseconds()
	if f.Accepts(values) != nil {
		return nil // such a call does not run
	}
	for values.Rank = range values.World {
		memory, err := f.NewMadeUp(values)
		if err != nil {
			return err
		}
		if _, err := f.Bind(values, b, memory); err != nil {
			return err
		}
	}
	return nil
}
