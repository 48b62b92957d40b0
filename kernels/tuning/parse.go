package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/rulefile"
)

// keys lists the keys of a table, for messages.
const keys = "there are gpu, compute, driver, measured and dtype, and in a [[rule]] collective, world, epilogue, " +
	"hidden, up_to, algorithm, blocks, estimated and measured"

// maxHidden is how many elements --hidden takes.
const maxHidden = 1 << 30

// Parse reads a table. It refuses unknown keys, collectives and algorithms that the catalog lacks, and rules out of
// order. Errors begin with the name and, where it is known, the line.
func Parse(name string, text []byte) (Table, error) {
	var t Table
	if err := rulefile.Decode(name, text, &t, keys); err != nil {
		return Table{}, err
	}
	if err := t.checkHead(); err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	known := catalog()
	for i := range t.Rules {
		if err := t.checkRule(i, known); err != nil {
			return Table{}, rulefile.Blame(name, text, i, err)
		}
	}
	return t, nil
}

// catalog is every collective by its name.
func catalog() map[string]*collective.Collective {
	all := map[string]*collective.Collective{}
	for _, c := range kernels.Collectives() {
		all[c.Name] = c
	}
	return all
}

// checkHead checks the table's keys outside of the rules.
func (t Table) checkHead() error {
	var major, minor int
	if _, err := fmt.Sscanf(t.Compute, "%d.%d", &major, &minor); err != nil ||
		fmt.Sprintf("%d.%d", major, minor) != t.Compute || minor > 9 {
		return fmt.Errorf("compute %q is not a compute capability; write for example \"9.0\"", t.Compute)
	}
	if err := checkDay(t.Measured); err != nil {
		return err
	}
	if _, ok := collective.ParseDType(t.DType); !ok {
		return fmt.Errorf("there is no element type %q; write the dtype of the calls, for example \"bfloat16\"", t.DType)
	}
	if t.GPU == "" {
		return errors.New("gpu is missing: write the model as \"gpurun list --output json\" names it")
	}
	return nil
}

func checkDay(day string) error {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return fmt.Errorf("measured %q is not a day; write for example \"2026-11-21\"", day)
	}
	return nil
}

// checkRule checks the rule with the index i against the catalog, and that the rule is in order
// after the rule before it.
func (t Table) checkRule(i int, known map[string]*collective.Collective) error {
	r := t.Rules[i]
	c, ok := known[r.Collective]
	if !ok {
		return fmt.Errorf("there is no collective %q; \"gpurun list\" has them all", r.Collective)
	}
	a, ok := c.Algorithm(r.Algorithm)
	if !ok && kernelfile.IsPath(r.Algorithm) && r.Epilogue == collective.NoEpilogue { // a job may have it
		a, ok = &collective.Algorithm{Collective: c.Name, Name: r.Algorithm}, true
	}
	if !ok {
		return fmt.Errorf("%s has no algorithm %q; \"gpurun list\" has them all", r.Collective, r.Algorithm)
	}
	switch {
	case r.Epilogue != collective.NoEpilogue &&
		!slices.ContainsFunc(a.Kernels, func(k collective.Kernel) bool { return k.Epilogue == r.Epilogue }):
		return fmt.Errorf("%s %s has no epilogue %q; \"gpurun list --output json\" has them all", r.Collective, r.Algorithm,
			r.Epilogue)
	case r.World < 1 || r.World > collective.MaxRanks:
		return fmt.Errorf("world %d is not between 1 and %d", r.World, collective.MaxRanks)
	case r.Blocks < 0 || r.Blocks > collective.MaxBlocks:
		return fmt.Errorf("blocks %d is not between 1 and %d; leave the key out to leave the number to the algorithm",
			r.Blocks, collective.MaxBlocks)
	case r.UpTo < 0:
		return fmt.Errorf("up_to %d is negative", r.UpTo)
	case r.Measured != "" && checkDay(r.Measured) != nil:
		return checkDay(r.Measured)
	}
	if err := cmp.Or(t.checkHidden(r, a), t.checkOrder(i)); err != nil {
		return err
	}
	last := i == len(t.Rules)-1 || !r.sameSweep(t.Rules[i+1])
	if last && r.UpTo != 0 && r.Hidden == 0 {
		return fmt.Errorf("it is the last for %s among %d ranks, so that larger sizes have none; leave out its up_to",
			r.calls(), r.World)
	}
	return nil
}

// checkHidden checks a rule's length of rows. The epilogue must have rows, the algorithm must
// support the length, and rows of other lengths must have rules too.
func (t Table) checkHidden(r Rule, a *collective.Algorithm) error {
	anyLength := r
	anyLength.Hidden = 0
	switch {
	case r.Hidden == 0:
		return nil
	case r.Hidden < 1 || r.Hidden > maxHidden:
		return fmt.Errorf("hidden %d is not between 1 and %d; leave the key out for rows of any length", r.Hidden, maxHidden)
	case !r.Epilogue.ByRow():
		return fmt.Errorf("hidden %d is the length of an epilogue's rows, and %s has none; "+
			"leave it out, or name the epilogue, %q or %q",
			r.Hidden, anyLength.calls(), collective.Bias, collective.RMSNorm)
	}
	dtype, _ := collective.ParseDType(t.DType) // checkHead has read it
	call := collective.Call{
		Count: r.Hidden, DType: dtype, Op: collective.Sum,
		Epilogue: collective.Epilogue{Kind: r.Epilogue, Row: r.Hidden},
	}
	if err := a.Check(call, r.World); err != nil {
		return fmt.Errorf("hidden %d is of no use here: %w; correct it, or take another algorithm", r.Hidden, err)
	}
	if !slices.ContainsFunc(t.Rules, anyLength.sameSweep) {
		return fmt.Errorf("rows of other lengths have no rules for %s among %d ranks; "+
			"add some without hidden, or leave hidden out here", anyLength.calls(), r.World)
	}
	return nil
}

// checkOrder checks that the rule with the index i begins where the rule before it ends.
func (t Table) checkOrder(i int) error {
	r := t.Rules[i]
	if i > 0 && t.Rules[i-1].sameSweep(r) {
		before := t.Rules[i-1].UpTo
		switch {
		case before == 0:
			return fmt.Errorf("the rule before has no up_to, so that this one is for nothing; give that one an up_to")
		case r.UpTo != 0 && r.UpTo <= before:
			return fmt.Errorf("up_to %q is not above the %q of the rule before; sort the rules by size", r.UpTo, before)
		}
		return nil
	}
	for _, earlier := range t.Rules[:i] {
		if earlier.sameSweep(r) {
			return fmt.Errorf("rules for %s among %d ranks stand further up; put them together, the smallest sizes first",
				r.calls(), r.World)
		}
	}
	return nil
}

// sameSweep reports whether two rules share their collective, epilogue, length of rows
// and number of ranks.
func (r Rule) sameSweep(other Rule) bool {
	return r.Collective == other.Collective && r.Epilogue == other.Epilogue && r.Hidden == other.Hidden &&
		r.World == other.World
}

// calls names the collective and the epilogue.
func (r Rule) calls() string { return callsOf(r.Collective, r.Epilogue, r.Hidden) }

// callsOf names a collective, its epilogue if there is one, and the length of its rows if
// that is known.
func callsOf(name string, e collective.EpilogueKind, hidden int64) string {
	if e == collective.NoEpilogue {
		return name
	}
	return name + " with " + epilogue(e, hidden)
}
