package tuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Query is a call to choose for.
type Query struct {
	GPU        string // the model, as the driver names it
	SM         int    // compute capability, 10*major+minor
	Collective string
	World      int
	Epilogue   collective.EpilogueKind
	Hidden     int64 // elements of the epilogue's rows; 0: it has none
	Bytes      int64 // of the larger of a rank's buffers
	// Able reports whether an algorithm can do the call on this job's devices.
	Able func(algorithm string) bool
}

// Choice is what a table recommends.
type Choice struct {
	Algorithm string
	Blocks    int    // 0 leaves it to the algorithm
	Reason    string // for the user: where it was measured, or that it is an estimate
}

// Choose finds the rule for a call, in this order: the nearest table; rules for the epilogue, else for calls without
// one; rules for the number of ranks, else for the nearest number measured; rules for the length of rows up to their
// last size, else for any length. It is false when there is no rule for the collective, or when the rule's algorithm
// cannot do the call; Choice.Reason then says so. No other rule is tried: what is best for other sizes may be the worst
// for this one.
func (ts Tables) Choose(q Query) (Choice, bool) {
	t, ok := ts.Only(q.Collective).nearest(q)
	if !ok {
		return Choice{}, false
	}
	rules := t.rulesFor(q)
	if len(rules) == 0 { // the table has only rules for epilogues
		return Choice{}, false
	}
	i := ruleOf(rules, q.Bytes)
	if !q.Able(rules[i].Algorithm) {
		return Choice{Reason: fmt.Sprintf("%s, which is for %s, cannot do this", rules[i].Algorithm, span(rules, i))}, false
	}
	return t.choice(q, rules, i), true
}

// nearest finds the table with the nearest compute capability. Of several, it takes the one with rules for the
// epilogue, then with the nearest number of ranks, then the GPU's own, then the one with the most rules. What costs
// little in the simulator says nothing about GPUs, so its table is farther from a GPU than that of any other GPU.
func (ts Tables) nearest(q Query) (Table, bool) {
	if len(ts) == 0 {
		return Table{}, false
	}
	return slices.MinFunc(ts, func(a, b Table) int {
		return slices.Compare(a.distances(q), b.distances(q))
	}), true
}

// distances tells how far the table is from a query: the first number that differs decides between tables.
func (t Table) distances(q Query) []int {
	kind, capability, model, epilogue := 0, abs(t.sm()-q.SM), 1, 0
	if t.GPU == q.GPU {
		capability, model = 0, 0
	}
	if (t.GPU == cudart.SimulatorName) != (q.GPU == cudart.SimulatorName) {
		kind = 1
	}
	rules := t.with(q.Epilogue)
	if len(rules) == 0 {
		rules, epilogue = t.Rules, 1
	}
	world := math.MaxInt
	for _, r := range rules {
		world = min(world, abs(r.World-q.World))
	}
	return []int{kind, capability, epilogue, world, model, -len(t.Rules)}
}

// sm is the compute capability, 10*major+minor.
func (t Table) sm() int {
	major, minor, _ := strings.Cut(t.Compute, ".")
	x, _ := strconv.Atoi(major) // Parse has checked both
	y, _ := strconv.Atoi(minor)
	return 10*x + y
}

// ruleOf returns the index of the rule for a size. The rules must cover all sizes.
func ruleOf(rules []Rule, bytes int64) int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.UpTo == 0 || bytes <= int64(r.UpTo) })
}

// rulesFor lists the rules of one collective in a table for the epilogue, or, if there are none,
// for calls without an epilogue. Of these it selects the nearest number of ranks (of two equally
// near, the larger one), and then the length of rows.
func (t Table) rulesFor(q Query) []Rule {
	rules := t.with(q.Epilogue)
	if len(rules) == 0 {
		rules = t.with(collective.NoEpilogue)
	}
	if len(rules) == 0 {
		return nil
	}
	nearest := slices.MinFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(abs(a.World-q.World), abs(b.World-q.World)), cmp.Compare(b.World, a.World))
	}).World
	return ofRows(slices.DeleteFunc(rules, func(r Rule) bool { return r.World != nearest }), q.Hidden)
}

// ofRows lists the rules for a length of rows. The given rules differ only in length and size. The
// length's own rules come first; for larger sizes, the rules for any length follow.
func ofRows(rules []Rule, hidden int64) []Rule {
	var own, others []Rule
	for _, r := range rules {
		switch r.Hidden {
		case 0:
			others = append(others, r)
		case hidden:
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return others
	}
	end := own[len(own)-1].UpTo
	return append(own, slices.DeleteFunc(others, func(r Rule) bool { return end == 0 || r.UpTo != 0 && r.UpTo <= end })...)
}

// with lists the rules with an epilogue.
func (t Table) with(e collective.EpilogueKind) []Rule {
	return slices.DeleteFunc(slices.Clone(t.Rules), func(r Rule) bool { return r.Epilogue != e })
}

// choice is the rule with the index i.
func (t Table) choice(q Query, rules []Rule, i int) Choice {
	r := rules[i]
	reason := "measured best on " + t.GPU
	if r.Estimated {
		reason = "estimated for " + t.GPU
	}
	if t.GPU != q.GPU {
		reason += fmt.Sprintf(" (of the models measured the nearest to %s)", q.GPU)
	}
	reason += fmt.Sprintf(", %d GPUs", r.World)
	if r.World != q.World {
		reason += fmt.Sprintf(" (the nearest to %d)", q.World)
	}
	if r.Epilogue != collective.NoEpilogue {
		reason += ", with " + epilogue(r.Epilogue, r.Hidden)
	}
	reason += ", " + span(rules, i) + " (" + cmp.Or(r.Measured, t.Measured) + ")"
	return Choice{Algorithm: r.Algorithm, Blocks: r.Blocks, Reason: reason}
}

// epilogue names an epilogue, with the length of its rows unless that is 0.
func epilogue(e collective.EpilogueKind, hidden int64) string {
	if hidden == 0 {
		return string(e)
	}
	return fmt.Sprintf("%s of %d", e, hidden)
}

// span describes the sizes that a rule is for.
func span(rules []Rule, i int) string {
	switch {
	case rules[i].UpTo > 0:
		return "up to " + rules[i].UpTo.String()
	case i > 0:
		return "beyond " + rules[i-1].UpTo.String()
	}
	return "all sizes"
}

func abs(n int) int { return max(n, -n) }
