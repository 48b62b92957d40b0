package check

import (
	"context"
	"errors"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// addProductFile adds cases of a kernel file for a product.
func (p *Plan) addProductFile(ctx context.Context, f *kernelfile.File, text []byte, what *matmul.Operation,
	notify func(string),
) error {
	if why := p.options.unsuitable(what); why != "" {
		return exit.Usagef("%s", why)
	}
	types, _, err := p.callsOf(f)
	if err != nil {
		return err
	}
	for _, world := range p.worldsOf(f) {
		a, err := p.loadProductFile(ctx, f, text, what, world, types, notify)
		if err != nil {
			return err
		}
		for _, d := range types {
			for _, on := range p.archesOf(a, d) {
				if err := p.addProductCase(what, a, d, on, world); err != nil {
					return &exit.UsageError{Err: err}
				}
				p.cases[len(p.cases)-1].command.GridsScale = f.GridsScale()
			}
		}
	}
	return nil
}

// loadProductFile makes an algorithm of a file for a product, for so many ranks.
func (p *Plan) loadProductFile(ctx context.Context, f *kernelfile.File, text []byte, what *matmul.Operation, world int,
	types []collective.DType, notify func(string),
) (*matmul.Algorithm, error) {
	bundle, err := p.bundle(ctx, f, text, world, types, nil, notify)
	if err != nil {
		return nil, err
	}
	extended, err := userkernel.ExtendOperation(what, []*kernelfile.Bundle{bundle})
	if err != nil {
		return nil, err
	}
	a, ok := extended.Algorithm(f.Path)
	if !ok {
		return nil, errors.New("the kernel file made no algorithm")
	}
	return a, nil
}

// againProducts makes the calls of a request for a product.
func (o *Options) againProducts(ctx context.Context, what *matmul.Operation, r request, d collective.DType, world int,
	notify func(string),
) (plannedCase, error) {
	a, ok := what.Algorithm(r.Algorithm)
	if kernelfile.IsPath(r.Algorithm) {
		f, text, err := kernelcode.Read(r.Algorithm)
		if err != nil {
			return plannedCase{}, err
		}
		p := &Plan{options: o}
		if a, err = p.loadProductFile(ctx, f, text, what, world, []collective.DType{d}, notify); err != nil {
			return plannedCase{}, err
		}
	} else if !ok || a.Library != "" {
		return plannedCase{}, exit.Usagef("%s has no algorithm %q of gpurun's own", what.Name, r.Algorithm)
	}
	on, err := parseArch(r.Arch)
	if err != nil {
		return plannedCase{}, &exit.UsageError{Err: err}
	}
	k := &checktask.Products{
		Operation: what, Algorithm: a, Launches: r.Launches, MaxBlocks: r.MaxBlocks, Seed: r.Seed, PDL: r.PDL,
	}
	for _, x := range r.Matrices {
		problem := matmul.Problem{M: x[0], N: x[1], K: x[2], DType: d}
		if err := errors.Join(what.Check(problem, world), a.Check(problem, world)); err != nil {
			return plannedCase{}, &exit.UsageError{Err: err}
		}
		k.Problems = append(k.Problems, problem)
	}
	return plannedCase{product: k, world: world, on: on, command: r}, nil
}
