package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gpurun/worker/result/plot"
)

// Fastest leaves the fastest lines of Panels, at most so many, in all diagrams alike, and names the fastest of all.
// Lines are ranked by how much longer they take than the fastest of each size, in the geometric mean. Each keeps its
// letter.
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
	note := " (fastest: " + names[0] + ")"
	if len(kept) < len(names) {
		note = fmt.Sprintf(" (%d of %d, fastest: %s)", len(kept), len(names), names[0])
	}
	var all []plot.Panel
	for _, p := range panels {
		p.Title += note
		p.Lines = slices.Clone(p.Lines)
		for i, line := range p.Lines {
			if !slices.Contains(kept, line.Name) {
				p.Lines[i].Points = nil
			}
		}
		all = append(all, p)
	}
	return all
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
