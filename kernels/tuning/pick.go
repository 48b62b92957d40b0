package tuning

import (
	"cmp"
	"math"
	"slices"
)

// Sample is how long one call took.
type Sample struct {
	Collective string
	World      int
	Bytes      int64 // of the larger of a rank's buffers
	Algorithm  string
	Blocks     int
	Micros     float64 // median, in microseconds
}

// margin is by how much another algorithm, or more blocks, must be faster to be
// worth a rule of their own: what is less may be chance.
const margin = 1.02

// Rules picks, for every collective, number of ranks and size, the fastest of
// the samples, with as few blocks as are no slower by more than 2%, and makes a
// rule of neighbouring sizes that agree. From one size to the next the
// algorithm changes only where that wins more than 2%, and then in between them.
func Rules(samples []Sample) []Rule {
	var all []Rule
	for _, sweep := range groupBy(samples, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.World, b.World))
	}) {
		all = append(all, sweepRules(sweep)...)
	}
	return all
}

// sweepRules makes the rules of one collective and number of ranks.
func sweepRules(samples []Sample) []Rule {
	var rules []Rule
	var previous int64
	sizes := groupBy(samples, func(a, b Sample) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for i, size := range sizes {
		usual := ""
		if i > 0 {
			usual = rules[len(rules)-1].Algorithm
		}
		s := fastest(size, usual)
		r := Rule{Collective: s.Collective, World: s.World, Algorithm: s.Algorithm, Blocks: s.Blocks}
		if i > 0 {
			last := &rules[len(rules)-1]
			if r.Algorithm == last.Algorithm && r.Blocks == last.Blocks {
				previous = s.Bytes
				continue
			}
			last.UpTo = between(previous, s.Bytes)
		}
		rules, previous = append(rules, r), s.Bytes
	}
	return rules
}

// fastest finds the best of the samples of one size, and prefers the usual
// algorithm, and few blocks, to what may be chance.
func fastest(samples []Sample, usual string) Sample {
	best := slices.MinFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Micros, b.Micros) })
	near := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Micros > best.Micros*margin })
	algorithm := best.Algorithm
	if slices.ContainsFunc(near, func(s Sample) bool { return s.Algorithm == usual }) {
		algorithm = usual
	}
	near = slices.DeleteFunc(near, func(s Sample) bool { return s.Algorithm != algorithm })
	return slices.MinFunc(near, func(a, b Sample) int { return cmp.Compare(a.Blocks, b.Blocks) })
}

// between is a limit in the middle of two sizes, in proportion: the smaller one
// doubled as often as that keeps below it.
func between(a, b int64) Size {
	limit, middle := a, math.Sqrt(float64(a)*float64(b))
	for limit > 0 && 2*float64(limit) <= middle {
		limit *= 2
	}
	return Size(limit)
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
