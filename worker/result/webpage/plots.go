package webpage

import (
	"strings"

	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/plot"
)

// firstShown is how many lines a plot shows at first, so that it can be read; the others wait in its legend.
const firstShown = 8

// plots are those of bench, for any report: times and bandwidths by size, with the thresholds that hold for them.
func plots(r result.Report) []Plot {
	var all []Plot
	for _, p := range bench.Panels(r) {
		if p.Empty() {
			continue
		}
		spec := convert(p)
		metric := "busbw"
		if strings.Contains(p.YLabel, "time") {
			metric = "latency"
		}
		spec.Levels = append(spec.Levels, limits(r.Gate, metric, p.Title)...)
		all = append(all, spec)
	}
	return all
}

func convert(p plot.Panel) Plot {
	spec := Plot{Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel, Bytes: true, Levels: []Level{}, Hidden: []string{}}
	for _, l := range p.Lines {
		line := Line{Name: l.Name}
		for _, at := range l.Points {
			if at.Y > 0 {
				line.Points = append(line.Points, [2]float64{at.X, at.Y})
			}
		}
		if len(line.Points) == 0 {
			continue
		}
		if len(spec.Lines) >= firstShown {
			spec.Hidden = append(spec.Hidden, line.Name)
		}
		spec.Lines = append(spec.Lines, line)
	}
	if p.Level != nil {
		spec.Levels = append(spec.Levels, Level{p.Level.Name, p.Level.Y})
	}
	return spec
}

// limits are the thresholds of a metric for a plot's collective, which its title begins with.
func limits(g *result.Gate, metric, title string) (all []Level) {
	if g == nil {
		return nil
	}
	for _, rule := range g.Rules {
		if rule.Metric == metric && rule.Matched > 0 && strings.HasPrefix(title+" ", rule.Collective+" ") {
			all = append(all, Level{"threshold " + rule.Rule, rule.Limit})
		}
	}
	return all
}
