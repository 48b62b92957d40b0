package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// Plan is what a check runs.
type Plan struct {
	options      *Options
	cases        []plannedCase
	schedules    int // of each case
	suppressions *suppressions
}

// plannedCase is an algorithm among so many ranks.
type plannedCase struct {
	calls   checktask.Calls
	variant string
	world   int
	command request
}

// request is what a schedule's file says about the calls, so that a replay makes them again.
type request struct {
	Collective string  `json:"collective"`
	Algorithm  string  `json:"algorithm"`
	DType      string  `json:"dtype"`
	Op         string  `json:"op"`
	Root       int     `json:"root"`
	InPlace    bool    `json:"in_place"`
	Early      bool    `json:"early"`
	Replayed   bool    `json:"replayed"`
	Counts     []int64 `json:"counts"`
	Launches   int     `json:"launches"`
	MaxBlocks  int     `json:"max_blocks"`
	Seed       uint64  `json:"seed"` // of the inputs
	Model      string  `json:"model"`
	Resident   int     `json:"resident"`
}

// device is what calls run on: see check.Config.
const computeCapability = 100

// NewPlan finds out what is to be checked: the words are collectives, kernel files, or nothing, which is everything.
func NewPlan(ctx context.Context, o *Options, words []string, notify func(string)) (*Plan, error) {
	p := &Plan{options: o, schedules: cmp.Or(o.Schedules, usualSchedules)}
	var err error
	if p.suppressions, err = readSuppressions(o.Suppressions); err != nil {
		return nil, err
	}
	if len(words) == 0 && len(o.Algorithms) == 0 {
		p.schedules = cmp.Or(o.Schedules, fewSchedules)
		for _, c := range kernels.Collectives() {
			if err := p.addOwn(c, nil); err != nil {
				return nil, err
			}
		}
		return p, p.check()
	}
	add := func(word string) error { return p.add(ctx, word, o.Algorithms, notify) }
	if len(words) == 0 { // gpurun check --algo mine.toml
		for _, algorithm := range o.Algorithms {
			if !kernelfile.IsPath(algorithm) {
				return nil, exit.Usagef("--algo %s: name the collective, too", algorithm)
			}
		}
		words, add = o.Algorithms, func(word string) error { return p.add(ctx, word, nil, notify) }
	}
	for _, word := range words {
		if err := add(word); err != nil {
			return nil, err
		}
	}
	return p, p.check()
}

// add adds the cases of a word: a collective, with some of its algorithms, or a kernel file.
func (p *Plan) add(ctx context.Context, word string, algorithms []string, notify func(string)) error {
	if kernelfile.IsPath(word) {
		return p.addFile(ctx, word, "", notify)
	}
	c, ok := kernels.Find(word)
	if !ok {
		return unknown(word)
	}
	if why := p.inapplicable(c); why != "" {
		return exit.Usagef("%s", why)
	}
	var own []string
	for _, a := range algorithms {
		switch {
		case !kernelfile.IsPath(a):
			own = append(own, a)
		default:
			if err := p.addFile(ctx, a, c.Name, notify); err != nil {
				return err
			}
		}
	}
	if len(algorithms) > 0 && len(own) == 0 {
		return nil
	}
	return p.addOwn(c, own)
}

// inapplicable says which flag has no meaning for a collective.
func (p *Plan) inapplicable(c *collective.Collective) string {
	o := p.options
	switch {
	case o.changed("op") && !c.Shape.Reduces:
		return c.Name + " takes no --op: it does not reduce"
	case o.changed("root") && c.Shape.Root == collective.NoRoot:
		return c.Name + " takes no --root: it has no root"
	case c.Shape.Empty && (o.changed("datatype") || o.changed("sizes") || o.changed("unaligned")):
		return c.Name + " takes no --datatype, --sizes or --unaligned: it moves no data"
	}
	return ""
}

// addOwn adds cases of gpurun's own algorithms of a collective: those of these names, or all.
func (p *Plan) addOwn(c *collective.Collective, names []string) error {
	for _, name := range names {
		a, ok := c.Algorithm(name)
		switch {
		case !ok:
			return &exit.UsageError{Err: fmt.Errorf("--algo: %w", suggest.Unknown("algorithm", name, ownNames(c)))}
		case a.Needs.Library != "":
			return exit.Usagef("--algo: %s is a library, whose code cannot be checked", name)
		}
	}
	for _, a := range c.Algorithms {
		if len(names) > 0 && !slices.Contains(names, a.Name) || a.Needs.Library != "" {
			continue
		}
		for _, world := range p.options.Ranks {
			if err := p.addCases(c, a, world, len(names) > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func ownNames(c *collective.Collective) (names []string) {
	for _, a := range c.Algorithms {
		if a.Needs.Library == "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// addCases adds a case for each type and operation. What an algorithm cannot do is an error if it was named.
func (p *Plan) addCases(c *collective.Collective, a *collective.Algorithm, world int, named bool) error {
	types, ops := p.options.DTypes, p.options.Ops
	if len(types) == 0 {
		types = []collective.DType{collective.Float}
	}
	switch {
	case !c.Shape.Reduces:
		ops = []collective.Op{collective.None}
	case len(ops) == 0:
		ops = []collective.Op{collective.Sum}
	}
	for _, d := range types {
		for _, op := range ops {
			err := p.addCase(c.Shape, a, d, op, world)
			if err != nil && named {
				return &exit.UsageError{Err: err}
			}
		}
	}
	return nil
}

// addCase adds a case, or returns why the algorithm cannot do it.
func (p *Plan) addCase(shape collective.Shape, a *collective.Algorithm, d collective.DType, op collective.Op,
	world int,
) error {
	o := p.options
	k := checktask.Calls{
		Algorithm: a, Shape: shape, DType: d, Op: op, Root: o.Root, Launches: o.Launches, MaxBlocks: o.Blocks, Seed: o.Seed,
	}
	if o.Root >= world {
		return fmt.Errorf("--root: there is no rank %d among %d", o.Root, world)
	}
	if _, ok := a.Find(d, op, collective.NoEpilogue, world, computeCapability); !ok {
		if err := a.Check(collective.Call{DType: d, Op: op}, world); err != nil {
			return err
		}
		return fmt.Errorf("%s %s has no kernel for devices of compute capability 10.0", a.Collective, a.Name)
	}
	var err error
	if k.Counts, err = k.CountsFor(o.Sizes, world, o.Unaligned); err != nil {
		return err
	}
	p.cases = append(p.cases, plannedCase{calls: k, variant: "out of place", world: world, command: request{
		Collective: a.Collective, Algorithm: a.Name, DType: d.Name, Op: string(op), Root: o.Root, Counts: k.Counts,
		Launches: k.Launches, MaxBlocks: k.MaxBlocks, Seed: k.Seed, Model: o.model, Resident: o.Resident,
	}})
	return nil
}

// check refuses a plan without cases.
func (p *Plan) check() error {
	if len(p.cases) == 0 {
		return exit.Usagef("there is nothing to check: no algorithm does these calls")
	}
	return nil
}

// variants are the ways in which a case makes its calls; schedules are split among them.
func (c plannedCase) variants() []plannedCase {
	a := c.calls.Algorithm
	_, _, _, inPlace := c.calls.Shape.InPlace(0)
	all := []plannedCase{c}
	add := func(name string, change func(*plannedCase)) {
		v := c
		v.variant = name
		change(&v)
		v.command.InPlace, v.command.Early, v.command.Replayed = v.calls.InPlace, v.calls.Early, v.calls.Replayed
		v.command.Launches = v.calls.Launches
		all = append(all, v)
	}
	if inPlace && !a.Needs.SeparateOutput {
		add("in place", func(v *plannedCase) { v.calls.InPlace = true })
	}
	if a.File == "" && a.HasPDL(c.calls.Call(0)) {
		add("early launch", func(v *plannedCase) { v.calls.Early = true })
	}
	if !a.Needs.FreshArguments {
		add("graph", func(v *plannedCase) { v.calls.Replayed, v.calls.Launches = true, 1 })
	}
	return all
}

// config is the machine of a case.
func (c plannedCase) config() engine.Config {
	cfg := engine.Config{Ranks: c.world, Processes: true, Resident: c.command.Resident}
	if c.command.Model == ptxModel {
		cfg.Model = engine.ModelPTX
	}
	return cfg
}

// report is what the report says about the case before it has run.
func (c plannedCase) report() checkreport.Case {
	k := c.calls
	r := checkreport.Case{
		Collective: k.Algorithm.Collective, Algorithm: k.Algorithm.Name, Ranks: c.world, DType: k.DType.Name,
		Op: string(k.Op), Launches: k.Launches,
	}
	for _, v := range c.variants() {
		r.Variants = append(r.Variants, v.variant)
	}
	for _, n := range k.Counts {
		r.Sizes = append(r.Sizes, n*int64(k.DType.Size))
	}
	if k.Shape.Empty {
		r.DType = ""
	}
	return r
}

func unknown(word string) error {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return &exit.UsageError{Err: suggest.Unknown("collective", word, names)}
}
