package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpurun/worker/result"
)

// AddPairs adds what a check of all pairs has found, with so many bytes over
// each link. The report may be one of a run that failed.
func (d *Diagnosis) AddPairs(r result.Report, bytes int64) {
	d.Ranks, d.Pairs, d.PairBytes = r.Devices, r.Pairs, bytes
	switch {
	case r.Failure != "":
		d.add(fail("pairs", "run it on fewer GPUs, by CUDA_VISIBLE_DEVICES, to find the one at fault; see the kernel log (dmesg) for Xid errors",
			"the check of the links between GPUs failed: %s", r.Failure))
	case r.Apart != "":
		d.add(warn("pairs", "on a machine with PCIe alone, turn off ACS and the IOMMU for peer access; collectives go through the host's memory meanwhile. GPUs that do reach each other can be checked by themselves: CUDA_VISIBLE_DEVICES names them",
			"the links between GPUs cannot be checked: %s", r.Apart))
	case len(r.Pairs) == 0:
		d.add(ok("pairs", "one GPU alone has no links to check"))
	default:
		d.add(d.data(), d.speed())
	}
}

// AddNoGPU adds that nothing can run on a GPU, and why, unless a finding has failed
// that says more.
func (d *Diagnosis) AddNoGPU(why error) {
	if d.Worst() != Fail {
		d.add(fail("cuda", "see whether nvidia-smi works, and what CUDA_VISIBLE_DEVICES names; if it does not, install the driver anew", "no GPU can be used: %v", why))
	}
}

// data says whether what was written over the links is what was found.
func (d *Diagnosis) data() Finding {
	const advice = "take the GPUs out of service, and see nvidia-smi nvlink -e and the kernel log (dmesg) for errors of their links; " +
		"over PCIe, an IOMMU or ACS that redirects peer accesses does this too"
	var problems []string
	for _, p := range d.Pairs {
		for _, side := range []struct {
			found  result.Compared
			reader string
		}{{p.Written, d.rank(p.To)}, {p.ReadBack, d.rank(p.From)}} {
			if side.found.Wrong > 0 {
				problems = append(problems, fmt.Sprintf("%s wrote to %s, where %s reads %d of %d words wrong, the first at %d",
					d.rank(p.From), d.rank(p.To), side.reader, side.found.Wrong, side.found.Words, side.found.First))
			}
		}
	}
	switch len(problems) {
	case 0:
		return ok("pairs", "what a GPU writes to the memory of another is right, read at either end, on all %d links, %s each", len(d.Pairs), size(d.PairBytes))
	case 1:
		return fail("pairs", advice, "%s", problems[0])
	}
	f := fail("pairs", advice, "%s; and %d more", problems[0], len(problems)-1)
	f.Details = problems
	return f
}

// measures are what is known of every link, in GB/s, where less is worse.
func measures() []measure {
	return []measure{
		{"alone", func(p result.Pair) float64 { return p.CopyGBs }},
		{"with all links busy", func(p result.Pair) float64 { return p.LoadedGBs }},
	}
}

type measure struct {
	when string
	of   func(result.Pair) float64
}

// speed names GPUs whose links are slower than those of the others. Times of
// the simulator mean nothing.
func (d *Diagnosis) speed() Finding {
	const check = "bandwidth"
	if d.Ranks[0].Backend == "sim" {
		return ok(check, "measured in the simulator, which says nothing about hardware")
	}
	var problems []string
	for _, m := range measures() {
		for _, s := range slow(d.Pairs, len(d.Ranks), m.of) {
			problems = append(problems, fmt.Sprintf("the links of %s do %.1f GB/s %s, and those of the others %.1f", d.rank(s.rank), s.own, m.when, s.others))
		}
	}
	if len(problems) > 0 {
		return warn(check, "see nvidia-smi nvlink -s and nvidia-smi -q -d PCIE for links that are down or narrow, and who else uses that GPU", "%s", strings.Join(problems, "; "))
	}
	return ok(check, "%s GB/s over a link alone, %s with all busy; no GPU is much slower than the others",
		span(d.Pairs, measures()[0].of), span(d.Pairs, measures()[1].of))
}

// laggard is a rank whose links are slow, with its mean and that of the others.
type laggard struct {
	rank        int
	own, others float64
}

// slow finds the ranks whose mean over the links from and to them is more than a
// standard deviation below the mean of all ranks, and more than a tenth below
// that of the others.
func slow(pairs []result.Pair, ranks int, value func(result.Pair) float64) []laggard {
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
			return nil // of two, neither can be told to be the slow one
		}
		own[rank], others[rank] = mean(mine), mean(theirs)
	}
	average := mean(own)
	var squares float64
	for _, x := range own {
		squares += (x - average) * (x - average)
	}
	sigma := math.Sqrt(squares / float64(ranks))
	var found []laggard
	for rank := range ranks {
		if own[rank] < average-sigma && own[rank] < 0.9*others[rank] {
			found = append(found, laggard{rank, own[rank], others[rank]})
		}
	}
	return found
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// span prints the least and the largest: "390.1 to 391.0".
func span(pairs []result.Pair, value func(result.Pair) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range pairs {
		low, high = min(low, value(p)), max(high, value(p))
	}
	return fmt.Sprintf("%.1f to %.1f", low, high)
}

// rank names the device of a rank as the list of GPUs does, or else the rank.
func (d *Diagnosis) rank(rank int) string {
	if rank < len(d.Ranks) {
		i := slices.IndexFunc(d.Devices, func(g Device) bool { return g.UUID == d.Ranks[rank].UUID })
		if i >= 0 {
			return fmt.Sprintf("GPU %d", d.Devices[i].Index)
		}
	}
	return fmt.Sprintf("rank %d", rank)
}
