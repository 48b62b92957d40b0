package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

// Plan is what a check runs.
type Plan struct {
	options      *Options
	cases        []plannedCase
	schedules    int // of each case
	programs     *engine.Programs
	suppressions *suppressions
}

// plannedCase is an algorithm among so many ranks, on devices of a compute capability.
type plannedCase struct {
	calls   checktask.Calls
	product *checktask.Products // in place of calls; nil: there are calls
	on      arch
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
	PDL        bool    `json:"pdl"`
	Replayed   bool    `json:"replayed"`
	Mixed      bool    `json:"mixed,omitempty"` // other algorithms make every other call
	Counts     []int64 `json:"counts"`
	Launches   int     `json:"launches"`
	Steps      int     `json:"steps,omitempty"` // 0 is engine.UsualSteps
	MaxBlocks  int     `json:"max_blocks"`
	Seed       uint64  `json:"seed"` // of the inputs
	Model      string  `json:"model"`
	Resident   int     `json:"resident"`
	GridsScale bool    `json:"grids_scale,omitempty"`        // see engine.Config
	Arch       string  `json:"compute_capability,omitempty"` // "" is 10.0
	// Matrices are M, N and K of products, which have no counts.
	Matrices [][3]int64 `json:"matrices,omitempty"`
}

// NewPlan finds out what is to be checked: the words are collectives, products, kernel files, or nothing, which is
// everything.
func NewPlan(ctx context.Context, o *Options, words []string, notify func(string)) (*Plan, error) {
	p := &Plan{options: o, programs: engine.NewPrograms(), schedules: cmp.Or(o.Schedules, o.usual(words))}
	var err error
	if p.suppressions, err = readSuppressions(o.Suppressions); err != nil {
		return nil, err
	}
	if len(words) == 0 && len(o.Algorithms) == 0 {
		for _, c := range kernels.Collectives() {
			if err := p.addOwn(c, nil); err != nil {
				return nil, err
			}
		}
		for _, what := range matmul.Operations() {
			if err := p.addProducts(what, nil); err != nil {
				return nil, err
			}
		}
		return p, p.check()
	}
	add := func(word string) error { return p.add(ctx, word, o.Algorithms, notify) }
	if len(words) > 0 && len(o.Algorithms) > 0 && !slices.ContainsFunc(words, isName) {
		return nil, exit.Usagef("--algo names algorithms of a collective, and %s is itself one: leave out --algo", words[0])
	}
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

// isName reports whether a word is the name of a collective, and not a kernel file.
func isName(word string) bool { return !kernelfile.IsPath(word) }

// add adds the cases of a word: a collective or a product, with some of its algorithms, or a kernel file.
func (p *Plan) add(ctx context.Context, word string, algorithms []string, notify func(string)) error {
	if kernelfile.IsPath(word) {
		return p.addFile(ctx, word, "", notify)
	}
	c, ok := kernels.Find(word)
	what, isProduct := matmul.Find(word)
	var name, why string
	switch {
	case ok:
		name, why = c.Name, p.inapplicable(c)
	case isProduct:
		name, why = what.Name, p.options.unsuitable(what)
	default:
		return unknown(word)
	}
	if why != "" {
		return exit.Usagef("%s", why)
	}
	var own []string
	for _, a := range algorithms {
		switch {
		case !kernelfile.IsPath(a):
			own = append(own, a)
		default:
			if err := p.addFile(ctx, a, name, notify); err != nil {
				return err
			}
		}
	}
	if len(algorithms) > 0 && len(own) == 0 {
		return nil
	}
	if isProduct {
		return p.addProducts(what, own)
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
	case o.changed("m") || o.changed("n") || o.changed("k"):
		return c.Name + " takes no -m, -n or -k: it is no product of matrices"
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
	for _, on := range p.options.arches() {
		for _, d := range types {
			for _, op := range ops {
				err := p.addCase(c.Shape, a, d, op, on, world, p.options.Sizes)
				if err != nil && named {
					return &exit.UsageError{Err: err}
				}
			}
		}
	}
	return nil
}

// addCase adds a case with calls of these sizes, or returns why the algorithm cannot do it.
func (p *Plan) addCase(shape collective.Shape, a *collective.Algorithm, d collective.DType, op collective.Op,
	on arch, world int, sizes []int64,
) error {
	o := p.options
	k := checktask.Calls{
		Algorithm: a, Shape: shape, DType: d, Op: op, Root: o.Root, Launches: o.Launches, MaxBlocks: o.Blocks, Seed: o.Seed,
	}
	if o.Root >= world {
		return fmt.Errorf("--root: there is no rank %d among %d", o.Root, world)
	}
	if _, ok := a.Find(d, op, collective.NoEpilogue, world, on.sm()); !ok {
		if err := a.Check(collective.Call{DType: d, Op: op}, world); err != nil {
			return err
		}
		return fmt.Errorf("%s %s has no kernel for devices of compute capability %v", a.Collective, a.Name, on)
	}
	var err error
	if k.Counts, err = k.CountsFor(sizes, world, o.Unaligned); err != nil {
		return err
	}
	p.cases = append(p.cases, plannedCase{calls: k, variant: "out of place", world: world, on: on, command: request{
		Collective: a.Collective, Algorithm: a.Name, DType: d.Name, Op: string(op), Root: o.Root, Counts: k.Counts,
		Launches: k.Launches, MaxBlocks: k.MaxBlocks, Seed: k.Seed, Model: o.model, Resident: o.Resident, Arch: on.String(),
		Steps: o.Steps,
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
	if c.product != nil {
		return c.productVariants()
	}
	a := c.calls.Algorithm
	_, _, _, inPlace := c.calls.Shape.InPlace(0)
	if inPlace && a.Needs.OneBuffer {
		c.calls.InPlace, c.command.InPlace = true, true
	}
	all := []plannedCase{c}
	add := func(name string, change func(*plannedCase)) {
		v := c
		v.variant = name
		change(&v)
		v.command.InPlace, v.command.PDL, v.command.Replayed = v.calls.InPlace, v.calls.PDL, v.calls.Replayed
		v.command.Launches = v.calls.Launches
		all = append(all, v)
	}
	if inPlace && !a.Needs.SeparateOutput && !a.Needs.OneBuffer {
		add("in place", func(v *plannedCase) { v.calls.InPlace = true })
	}
	if a.BeginsEarly || a.File == "" && a.HasPDL(c.calls.Call(0)) {
		add("early launch", func(v *plannedCase) { v.calls.PDL = true })
	}
	if !a.Needs.FreshArguments {
		add("graph", func(v *plannedCase) { v.calls.Replayed, v.calls.Launches = true, 1 })
	}
	if others := c.others(); len(others) > 0 {
		add("mixed", func(v *plannedCase) { v.calls.Others, v.command.Mixed = others, true })
	}
	return all
}

// others are gpurun's own algorithms of the collective, beside one of these, that can make its calls, too. They all use
// the same flags, packets and mailboxes.
func (c plannedCase) others() (all []*collective.Algorithm) {
	a := c.calls.Algorithm
	of, ok := kernels.Find(a.Collective)
	if a.File != "" || !ok {
		return nil
	}
	for _, o := range of.Algorithms {
		if o != a && c.mixes(o) {
			all = append(all, o)
		}
	}
	return all
}

// mixes reports whether an algorithm can make the calls, and needs nothing that the case may not have.
func (c plannedCase) mixes(o *collective.Algorithm) bool {
	call := c.calls.Call(0)
	if n := o.Needs; n.Library != "" || n.Multicast || n.FreshArguments || o.Areas != nil {
		return false
	}
	if _, ok := o.Find(call.DType, call.Op, collective.NoEpilogue, c.world, c.on.sm()); !ok {
		return false
	}
	return !slices.ContainsFunc(c.calls.Counts, func(count int64) bool {
		call.Count = count
		return o.Check(call, c.world) != nil
	})
}

// task is what a rank does.
func (c plannedCase) task(r *engine.Rank) error {
	if c.product != nil {
		return c.product.Task(r)
	}
	return c.calls.Task(r)
}

// multiprocessors are those of a device.
const multiprocessors = 8

// config is the machine of a case.
func (c plannedCase) config() engine.Config {
	cfg := engine.Config{
		Ranks: c.world, SMs: multiprocessors, Major: c.on.major, Minor: c.on.minor, Processes: true,
		Resident: c.command.Resident, GridsScale: c.command.GridsScale,
		Steps: c.command.Steps, Loop: 4 * c.command.Steps,
	}
	if c.command.Model == ptxModel {
		cfg.Model = engine.ModelPTX
	}
	return cfg
}

// report is what the report says about the case before it has run.
func (c plannedCase) report() checkreport.Case {
	if c.product != nil {
		return c.productReport()
	}
	k := c.calls
	r := checkreport.Case{
		Collective: k.Algorithm.Collective, Algorithm: k.Algorithm.Name, Ranks: c.world, DType: k.DType.Name,
		Op: string(k.Op), Launches: k.Launches, Arch: c.on.String(),
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
	text := cmp.Or(suggest.File(word), suggest.Algorithm("gpurun check", word, kernels.Collectives()))
	if text != "" {
		return exit.Usagef("unknown collective %q; %s", word, text)
	}
	if word == settings.All {
		return exit.Usagef("%q is no collective; leave it out for all collectives and products", word)
	}
	names := map[string]string{}
	for _, c := range kernels.Collectives() {
		for _, name := range append(c.Aliases, c.Name) {
			names[name] = c.Name
		}
	}
	for _, what := range matmul.Operations() {
		for _, name := range append(what.Aliases, what.Name) {
			names[name] = what.Name
		}
	}
	return &exit.UsageError{
		Err: suggest.Meant("collective", word, names, "name a collective, a product or a kernel file; gpurun list shows all"),
	}
}
