package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// isSchedule reports whether a file is one that --replay takes.
func isSchedule(path string) bool {
	text, err := settings.ReadFile(path, maxScheduleBytes)
	if err != nil {
		return false
	}
	_, err = schedule.Parse(text)
	return err == nil
}

// addFile adds cases of a kernel file, which must be for a collective unless that is empty.
func (p *Plan) addFile(ctx context.Context, path, of string, notify func(string)) error {
	f, text, err := kernelcode.Read(path)
	if err != nil && isSchedule(path) {
		return exit.Usagef("%s is a schedule: write gpurun check --replay %s", path, path)
	}
	if err != nil {
		return err
	}
	if of != "" && f.Collective != of {
		return exit.Usagef("%s is for %s, and this is %s: run gpurun check %s", path, f.Collective, of, path)
	}
	if what, ok := matmul.Find(f.Collective); ok {
		return p.addProductFile(ctx, f, text, what, notify)
	}
	types, ops, err := p.callsOf(f)
	if err != nil {
		return err
	}
	for _, world := range p.worldsOf(f) {
		bundle, err := p.bundle(ctx, f, text, world, types, ops, notify)
		if err != nil {
			return err
		}
		a, shape, err := loadFile(f, bundle)
		if err != nil {
			return err
		}
		for _, d := range types {
			for _, op := range ops {
				for _, on := range p.options.archesOf(a, d, op, world) {
					sizes := p.sizesOf(f, bundle, checktask.Calls{Algorithm: a, Shape: shape, DType: d, Op: op}, world)
					if err := p.addCase(shape, a, d, op, on, world, sizes); err != nil {
						return &exit.UsageError{Err: err}
					}
					made := &p.cases[len(p.cases)-1]
					made.command.GridsScale = f.GridsScale()
					if !p.options.changed("sizes") && !p.options.Unaligned && f.Contract.CountMultiple == nil {
						made.makeUneven(p.options.Sizes[0])
					}
				}
			}
		}
	}
	return nil
}

// worldsOf are the numbers of ranks that a file is for: all that are given, or those of the default.
func (p *Plan) worldsOf(f *kernelfile.File) []int {
	if p.options.changed("ranks") || len(f.World) == 0 {
		return p.options.Ranks
	}
	kept := slices.DeleteFunc(slices.Clone(p.options.Ranks), func(n int) bool { return !slices.Contains(f.World, n) })
	if len(kept) == 0 {
		return f.World[:1]
	}
	return kept
}

// callsOf are the types and operations of calls of a file.
func (p *Plan) callsOf(f *kernelfile.File) (types []collective.DType, ops []collective.Op, err error) {
	d, op, err := plan.CallOf(f, "", "")
	if err != nil {
		return nil, nil, err
	}
	types, ops = p.options.DTypes, p.options.Ops
	if len(types) == 0 {
		types = []collective.DType{d}
	}
	if len(ops) == 0 || len(f.Ops) == 0 {
		ops = []collective.Op{collective.Op(op)}
	}
	return types, ops, nil
}

// loadFile makes an algorithm of a file.
func loadFile(f *kernelfile.File, bundle *kernelfile.Bundle) (*collective.Algorithm, collective.Shape, error) {
	c, err := extended(f, bundle)
	if err != nil {
		return nil, collective.Shape{}, err
	}
	a, ok := c.Algorithm(f.Path)
	if !ok {
		return nil, collective.Shape{}, errors.New("the kernel file made no algorithm")
	}
	return a, c.Shape, nil
}

// bundle reads the code of a file, which must be PTX.
func (p *Plan) bundle(ctx context.Context, f *kernelfile.File, text []byte, world int, types []collective.DType,
	ops []collective.Op, notify func(string),
) (*kernelfile.Bundle, error) {
	o := kernelcode.Options{World: world, Compile: p.options.compile, Notify: notify}
	for _, d := range types {
		o.Types = append(o.Types, d.Name)
	}
	for _, op := range ops {
		o.Ops = append(o.Ops, string(op))
	}
	bundle, err := kernelcode.Load(ctx, f, text, o)
	if err != nil {
		return nil, err
	}
	if err := p.options.checkFiles(kernelcode.Files(bundle)...); err != nil {
		return nil, err
	}
	if path, found := kernelcode.MachineCode(bundle); found {
		return nil, exit.Usagef("%s: %s is machine code; gpurun check needs PTX", f.Path, path)
	}
	return bundle, nil
}

// extended is the collective of a file, with the file's algorithm.
func extended(f *kernelfile.File, b *kernelfile.Bundle) (*collective.Collective, error) {
	bundles := []*kernelfile.Bundle{b}
	if f.Collective == kernelfile.Custom {
		return userkernel.Custom(bundles)
	}
	c, ok := kernels.Find(f.Collective)
	if !ok {
		return nil, fmt.Errorf("%s: %w", f.Path, unknown(f.Collective))
	}
	return userkernel.Extend(c, bundles)
}
