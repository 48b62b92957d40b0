package tuning

import (
	"cmp"
	"math"
	"slices"

	"gpurun/kernels/collective"
)

// Sample is how long one call took.
type Sample struct {
	Collective string
	World      int
	Epilogue   collective.EpilogueKind
	Hidden     int64 // elements of the epilogue's rows; 0: it has none
	Bytes      int64 // of the larger of a rank's buffers
	Algorithm  string
	Blocks     int
	Micros     float64 // median, in microseconds
}

// Calls names the collective, the epilogue if there is one, and the length of its rows.
func (s Sample) Calls() string { return callsOf(s.Collective, s.Epilogue, s.Hidden) }

// margin is the ratio by which another algorithm, or more blocks, must be faster to get a rule of their own. Less may
// be noise.
const margin = 1.02

// Rules picks the fastest sample for every collective, number of ranks, epilogue and size. It
// prefers fewer blocks if they are at most 2% slower. Neighboring sizes with the same algorithm
// and blocks share a rule. The algorithm changes from one size to the next only if the new one is
// more than 2% faster; the limit is then between the two sizes.
//
// The first length of rows among the samples gives the rules for any length. Another length has
// rules of its own, up to the last size at which the rules for any length are more than 2% slower.
func Rules(samples []Sample) []Rule {
	var all []Rule
	for _, calls := range groupBy(samples, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.World, b.World),
			cmp.Compare(a.Epilogue, b.Epilogue))
	}) {
		all = append(all, rulesByRow(calls)...)
	}
	return all
}

// rulesByRow makes the rules of one collective, number of ranks and epilogue.
func rulesByRow(samples []Sample) []Rule {
	lengths := groupBy(samples, func(a, b Sample) int { return cmp.Compare(a.Hidden, b.Hidden) })
	first := slices.IndexFunc(lengths, func(l []Sample) bool { return l[0].Hidden == samples[0].Hidden })
	anyLength := sweepRules(lengths[first])
	rules := anyLength
	for _, length := range slices.Delete(lengths, first, first+1) {
		rules = append(rules, ownRules(length, anyLength)...)
	}
	return rules
}

// sweepRules makes the rules of calls that differ in size alone.
func sweepRules(samples []Sample) []Rule {
	var best []Sample
	for _, size := range bySize(samples) {
		best = append(best, fastest(size, usual(best)))
	}
	return join(best)
}

// ownRules makes the rules of one length of rows, for sizes at which the rules for any length are
// slower by more than the margin.
func ownRules(samples []Sample, anyLength []Rule) []Rule {
	var best []Sample
	own := 0 // sizes up to the last that needs another rule
	for i, size := range bySize(samples) {
		r := anyLength[ruleOf(anyLength, size[0].Bytes)]
		good := near(size)
		at := slices.IndexFunc(good, func(s Sample) bool { return s.Algorithm == r.Algorithm && s.Blocks == r.Blocks })
		if at >= 0 {
			best = append(best, good[at])
			continue
		}
		best, own = append(best, fastest(size, usual(best))), i+1
	}
	rules := join(best[:own])
	for i := range rules {
		rules[i].Hidden = samples[0].Hidden
	}
	if 0 < own && own < len(best) {
		rules[len(rules)-1].UpTo = between(best[own-1].Bytes, best[own].Bytes)
	}
	return rules
}

// join makes rules of the best sample of each size. Neighbors that agree share a rule.
func join(best []Sample) []Rule {
	var rules []Rule
	for i, s := range best {
		if i > 0 {
			last := &rules[len(rules)-1]
			if s.Algorithm == last.Algorithm && s.Blocks == last.Blocks {
				continue
			}
			last.UpTo = between(best[i-1].Bytes, s.Bytes)
		}
		rules = append(rules, Rule{
			Collective: s.Collective, World: s.World, Epilogue: s.Epilogue, Algorithm: s.Algorithm, Blocks: s.Blocks,
		})
	}
	return rules
}

// usual is the algorithm of the previous size, or "".
func usual(best []Sample) string {
	if len(best) == 0 {
		return ""
	}
	return best[len(best)-1].Algorithm
}

// near lists the samples of one size that are within the margin of the best.
func near(samples []Sample) []Sample {
	best := slices.MinFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Micros, b.Micros) })
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Micros > best.Micros*margin })
}

// fastest finds the best of the samples of one size. Among samples within the margin it prefers the usual algorithm,
// and few blocks.
func fastest(samples []Sample, usual string) Sample {
	good := near(samples)
	algorithm := slices.MinFunc(good, func(a, b Sample) int { return cmp.Compare(a.Micros, b.Micros) }).Algorithm
	if slices.ContainsFunc(good, func(s Sample) bool { return s.Algorithm == usual }) {
		algorithm = usual
	}
	good = slices.DeleteFunc(good, func(s Sample) bool { return s.Algorithm != algorithm })
	return slices.MinFunc(good, func(a, b Sample) int { return cmp.Compare(a.Blocks, b.Blocks) })
}

// between is a limit between two sizes: the smaller one, doubled as often as that stays below their geometric mean.
func between(a, b int64) Size {
	limit, middle := a, math.Sqrt(float64(a)*float64(b))
	for limit > 0 && 2*float64(limit) <= middle {
		limit *= 2
	}
	return Size(limit)
}

// bySize cuts samples into those of each size.
func bySize(samples []Sample) [][]Sample {
	return groupBy(samples, func(a, b Sample) int { return cmp.Compare(a.Bytes, b.Bytes) })
}

// groupBy sorts samples and cuts them into runs of equal ones.
func groupBy(samples []Sample, compare func(a, b Sample) int) [][]Sample {
	sorted := slices.SortedStableFunc(slices.Values(samples), compare)
	var groups [][]Sample
	for i, s := range sorted {
		if i == 0 || compare(sorted[i-1], s) != 0 {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], s)
	}
	return groups
}
