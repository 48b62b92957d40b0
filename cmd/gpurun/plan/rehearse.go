package plan

import (
	"gpurun/cmd/gpurun/exit"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
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
	sms := p.Host.SMs
	if sms == 0 {
		sms = usualSMs
	}
	values := kernelfile.Call{
		World: world, Root: call.Root, Type: call.DType.Name, Op: string(call.Op), ElementBytes: int64(call.DType.Size),
		Count: call.Count, InPlace: inPlace, SMs: sms, Blocks: call.Blocks, TimeoutNS: p.Job.Timeout.Nanoseconds(),
		InputBytes: call.Bytes() * shape.Send.Of(world), OutputBytes: call.Bytes() * shape.Recv.Of(world),
	}
	if f.Accepts(values) != nil {
		return nil // such a call does not run
	}
	for values.Rank = range world {
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
