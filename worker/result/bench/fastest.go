package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gpurun/worker/result/plot"
)

// peer is the algorithm that people compare with. Its line is shown wherever it was measured.
const peer = "nccl"

// Fastest leaves the fastest lines of Panels, at most so many, in all diagrams alike, and names the fastest of all.
// Lines are ranked by how much longer they take than the fastest of each size, in the geometric mean. nccl stays, too:
// it takes the last place. The lines that stay come first, so that no two of them look the same; the others lose their
// points.
func Fastest(panels []plot.Panel, most int) []plot.Panel {
	var names []string
	slower := map[string]float64{} // mean logarithm of the ratio
	for name, ratios := range slowdowns(panels) {
		names = append(names, name)
		for _, r := range ratios {
			slower[name] += math.Log(r) / float64(len(ratios))
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(slower[a], slower[b]), cmp.Compare(a, b)) })
	if len(names) < 2 {
		return panels
	}
	kept := names[:min(most, len(names))]
	if slices.Contains(names, peer) && !slices.Contains(kept, peer) {
		kept = append(slices.Clone(kept[:len(kept)-1]), peer)
	}
	note := " (fastest: " + names[0] + ")"
	if len(kept) < len(names) {
		note = fmt.Sprintf(" (%d of %d shown, fastest: %s)", len(kept), len(names), names[0])
	}
	var all []plot.Panel
	for _, p := range panels {
		p.Title += note
		p.Lines = keptFirst(p.Lines, kept)
		all = append(all, p)
	}
	return all
}

// keptFirst are all lines, those that are kept in front, and the others without points.
func keptFirst(lines []plot.Line, kept []string) []plot.Line {
	var first, others []plot.Line
	for _, line := range lines {
		if slices.Contains(kept, line.Name) {
			first = append(first, line)
		} else {
			others = append(others, plot.Line{Name: line.Name})
		}
	}
	return append(first, others...)
}

// slowdowns are the times of each line over the least at the same size of the same diagram. Every second panel is one
// of bandwidths.
func slowdowns(panels []plot.Panel) map[string][]float64 {
	all := map[string][]float64{}
	for i := 0; i < len(panels); i += 2 {
		least := map[float64]float64{}
		for _, line := range panels[i].Lines {
			for _, at := range line.Points {
				if best, ok := least[at.X]; at.Y > 0 && (!ok || at.Y < best) {
					least[at.X] = at.Y
				}
			}
		}
		for _, line := range panels[i].Lines {
			for _, at := range line.Points {
				if at.Y > 0 {
					all[line.Name] = append(all[line.Name], at.Y/least[at.X])
				}
			}
		}
	}
	return all
}
