package check

import (
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// addProducts adds cases of gpurun's own algorithms for a product: those of these names, or all.
func (p *Plan) addProducts(what *matmul.Operation, names []string) error {
	for _, name := range names {
		a, ok := what.Algorithm(name)
		switch {
		case !ok:
			return exit.Usagef("--algo: %w", suggest.Unknown("algorithm", name, ownProducts(what)))
		case a.Library != "":
			return exit.Usagef("--algo: %s is a library, whose code cannot be checked", name)
		}
	}
	for _, a := range what.Algorithms {
		if len(names) > 0 && !slices.Contains(names, a.Name) || a.Library != "" {
			continue
		}
		for _, world := range p.options.Ranks {
			if err := p.addProduct(what, a, world, len(names) > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func ownProducts(what *matmul.Operation) (names []string) {
	for _, a := range what.Algorithms {
		if a.Library == "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// addProduct adds a case for each type and compute capability. What an algorithm cannot do is an error if it was named.
func (p *Plan) addProduct(what *matmul.Operation, a *matmul.Algorithm, world int, named bool) error {
	types := p.options.DTypes
	if len(types) == 0 {
		types = []collective.DType{collective.BFloat16}
		if a.MinSM(types[0]) == 0 {
			types = []collective.DType{collective.Half}
		}
	}
	for _, d := range types {
		for _, on := range p.archesOf(a, d) {
			if err := p.addProductCase(what, a, d, on, world); err != nil && named {
				return &exit.UsageError{Err: err}
			}
		}
	}
	return nil
}

// archesOf are the compute capabilities of an algorithm's cases: those that were given, or those by default that have
// kernels of their own.
func (p *Plan) archesOf(a *matmul.Algorithm, d collective.DType) (kept []arch) {
	if len(p.options.Arches) > 0 {
		return p.options.Arches
	}
	var before []string
	for _, on := range archOfProduct {
		modules := a.ModulesOn(d, on.sm())
		switch {
		case len(modules) == 0:
		case slices.Equal(modules, before):
			kept[len(kept)-1] = on
		default:
			kept = append(kept, on)
		}
		before = modules
	}
	if len(kept) == 0 {
		return []arch{usualArch}
	}
	return kept
}

// addProductCase adds a case, or returns why the algorithm cannot do it.
func (p *Plan) addProductCase(what *matmul.Operation, a *matmul.Algorithm, d collective.DType, on arch,
	world int,
) error {
	o := p.options
	k := &checktask.Products{Operation: what, Algorithm: a, Launches: o.Launches, MaxBlocks: o.Blocks, Seed: o.Seed}
	if !o.changed("max-blocks") {
		k.MaxBlocks = blocksOfProducts
	}
	if a.MinSM(d) == 0 || len(a.ModulesOn(d, on.sm())) == 0 {
		if err := a.Check(matmul.Problem{M: int64(world), N: 1, K: 8, DType: d}, world); err != nil {
			return err
		}
		return fmt.Errorf("%s %s has no kernel of %s for devices of compute capability %v", what.Name, a.Name, d.Name, on)
	}
	if on.sm() == 90 && k.MaxBlocks < 2 {
		return fmt.Errorf("--max-blocks: products on compute capability %v run in clusters of 2 blocks; give at least 2",
			on)
	}
	var refused error
	for _, problem := range o.Products.problems() {
		problem.DType = d
		problem, err := k.ProblemFor(problem, world)
		same := func(x matmul.Problem) bool { return x.String() == problem.String() }
		switch {
		case err != nil:
			refused = err
		case !slices.ContainsFunc(k.Problems, same):
			k.Problems = append(k.Problems, problem)
		}
	}
	if len(k.Problems) == 0 {
		return refused
	}
	r := request{
		Collective: what.Name, Algorithm: a.Name, DType: d.Name, Op: string(collective.None), Launches: k.Launches,
		MaxBlocks: k.MaxBlocks, Seed: k.Seed, Model: o.model, Resident: o.Resident, Arch: on.String(),
		Steps: o.Steps,
	}
	for _, x := range k.Problems {
		r.Matrices = append(r.Matrices, [3]int64{x.M, x.N, x.K})
	}
	p.cases = append(p.cases, plannedCase{product: k, variant: "out of place", world: world, on: on, command: r})
	return nil
}

// productVariants are the ways in which a case makes its calls.
func (c plannedCase) productVariants() []plannedCase {
	all := []plannedCase{c}
	if a := c.product.Algorithm; (a.File == "" || a.BeginsEarly) && c.on.major >= 9 {
		pdl, k := c, *c.product
		k.PDL = true
		pdl.product, pdl.variant, pdl.command.PDL = &k, "early launch", true
		all = append(all, pdl)
	}
	return all
}

// productReport is what the report says about the case before it has run.
func (c plannedCase) productReport() checkreport.Case {
	k := c.product
	r := checkreport.Case{
		Collective: k.Operation.Name, Algorithm: k.Algorithm.Name, Ranks: c.world, DType: k.Problems[0].DType.Name,
		Op: string(collective.None), Launches: k.Launches, Arch: c.on.String(), Product: true,
	}
	for _, v := range c.variants() {
		r.Variants = append(r.Variants, v.variant)
	}
	for _, x := range k.Problems {
		r.Matrices = append(r.Matrices, fmt.Sprintf("%d x %d x %d", x.M, x.N, x.K))
	}
	return r
}
