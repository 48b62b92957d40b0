package doctor

import (
	"fmt"
	"math"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// measure is something that is known of every link, in GB/s, where less is worse.
type measure struct {
	when string
	of   func(result.Pair) float64
}

func measures() []measure {
	return []measure{
		{"alone", func(p result.Pair) float64 { return p.CopyGBs }},
		{"with all links busy", func(p result.Pair) float64 { return p.LoadedGBs }},
	}
}

// speed names GPUs and links that are slower than the others. Times of the
// simulator mean nothing.
func (d *Diagnosis) speed() Finding {
	const check = "bandwidth"
	if d.simulated() {
		return ok(check, "measured in the simulator, which says nothing about hardware")
	}
	var problems []string
	for _, m := range measures() {
		problems = append(problems, d.slowness(m)...)
	}
	if len(problems) > 0 {
		const advice = "see nvidia-smi nvlink -s and nvidia-smi -q -d PCIE for links that are down or narrow, " +
			"and who else uses these GPUs"
		return listed(warn(check, advice, "%s", problems[0]), problems)
	}
	return ok(check, "%s GB/s over one link alone, %s with all links busy; no link is much slower than the others",
		span(d.Pairs, measures()[0].of), span(d.Pairs, measures()[1].of))
}

// slowness lists what is slow by a measure, each once: a GPU; or a link that is slower than links of the same kind; or
// a link that is slower than its opposite direction.
func (d *Diagnosis) slowness(m measure) (problems []string) {
	of := func(rank int) func(laggard) bool { return func(l laggard) bool { return l.rank == rank } }
	gpus := slowGPUs(d.Pairs, len(d.Ranks), m.of)
	for _, s := range gpus {
		problems = append(problems, fmt.Sprintf("the links of %s reach %.1f GB/s %s, those of the others %.1f",
			d.rank(s.rank), s.own, m.when, s.others))
	}
	for i, p := range d.Pairs {
		if slices.ContainsFunc(gpus, of(p.From)) || slices.ContainsFunc(gpus, of(p.To)) {
			continue
		}
		link := fmt.Sprintf("the link from %s to %s reaches %.1f GB/s %s", d.rank(p.From), d.rank(p.To), m.of(p), m.when)
		alike := slices.DeleteFunc(slices.Clone(d.Pairs),
			func(q result.Pair) bool { return d.connection(q) != d.connection(p) })
		if median, slow := slowLink(alike, p, m.of); slow {
			problems = append(problems, fmt.Sprintf("%s, the median of similar links %.1f", link, median))
		} else if back, slow := slowDirection(d.Pairs, i, m.of); slow {
			problems = append(problems, fmt.Sprintf("%s, the opposite direction %.1f", link, back))
		}
	}
	return problems
}

// Whatever is slow is a tenth slower than the others, and by more than a standard
// deviation of theirs: GPUs are not all connected alike.
const slowPart = 0.9

// laggard is a rank whose links are slow, with the median of them and that of the others'.
type laggard struct {
	rank        int
	own, others float64
}

// slowGPUs finds the ranks whose median over the links from and to them is more than
// a standard deviation below the mean of all ranks', and more than a tenth below that
// of the links between others. One slow link does not move a median.
func slowGPUs(pairs []result.Pair, ranks int, value func(result.Pair) float64) []laggard {
	own, others := make([]float64, ranks), make([]float64, ranks)
	for rank := range ranks {
		var mine, theirs []float64
		for _, p := range pairs {
			if p.From == rank || p.To == rank {
				mine = append(mine, value(p))
			} else {
				theirs = append(theirs, value(p))
			}
		}
		if len(theirs) == 0 {
			return nil // of two GPUs, it is not known which one is slow
		}
		own[rank], others[rank] = stats.Median(mine), stats.Median(theirs)
	}
	average, sigma := mean(own), deviation(own)
	var found []laggard
	for rank := range ranks {
		if own[rank] < average-sigma && own[rank] < slowPart*others[rank] {
			found = append(found, laggard{rank, own[rank], others[rank]})
		}
	}
	return found
}

// slowLink holds a link against the median of those like it, itself among them, and
// against the deviation of the others. Of an even number the median is the lower of the two in the middle: what
// half of the links do is how the machine is.
func slowLink(alike []result.Pair, link result.Pair, value func(result.Pair) float64) (median float64, slow bool) {
	var all, others []float64
	for _, p := range alike {
		all = append(all, value(p))
		if p != link {
			others = append(others, value(p))
		}
	}
	median = slices.Sorted(slices.Values(all))[(len(all)-1)/2]
	own := value(link)
	return median, own < slowPart*median && own < median-deviation(others)
}

// slowDirection holds a link against the other direction between the same GPUs, less
// what directions differ in between other GPUs, and against the deviation of that.
func slowDirection(pairs []result.Pair, i int, value func(result.Pair) float64) (back float64, slow bool) {
	var differences []float64
	for k, p := range pairs {
		reverse := slices.IndexFunc(pairs, func(q result.Pair) bool { return q.From == p.To && q.To == p.From })
		switch {
		case reverse < 0:
		case k == i:
			back = value(pairs[reverse])
		case reverse > k && reverse != i:
			differences = append(differences, math.Abs(value(p)-value(pairs[reverse])))
		}
	}
	var usual, sigma float64
	if len(differences) > 0 {
		usual, sigma = mean(differences), deviation(differences)
	}
	there := value(pairs[i])
	return back, there < slowPart*(back-usual) && there < back-usual-sigma
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation is the standard deviation.
func deviation(values []float64) float64 {
	average := mean(values)
	var squares float64
	for _, x := range values {
		squares += (x - average) * (x - average)
	}
	return math.Sqrt(squares / float64(len(values)))
}

// span prints the least and the largest: "390.1 to 391.0".
func span(pairs []result.Pair, value func(result.Pair) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range pairs {
		low, high = min(low, value(p)), max(high, value(p))
	}
	return fmt.Sprintf("%.1f to %.1f", low, high)
}
