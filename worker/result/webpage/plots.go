package webpage

import (
	"slices"
	"strings"

	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/plot"
)

// firstShown is how many lines a plot shows at first, so that it can be read; the others wait in its legend.
const firstShown = 4

// plots are those of bench, for any report: times and bandwidths by size, with the thresholds that hold for them.
func plots(r result.Report) []Plot {
	var all []Plot
	panels := bench.Panels(r)
	for i, fastest := range bench.Fastest(panels, firstShown) {
		p := panels[i]
		if p.Empty() {
			continue
		}
		spec := convert(p, fastest)
		metric := "busbw"
		if strings.Contains(p.YLabel, "time") {
			metric = "latency"
		}
		spec.Levels = append(spec.Levels, limits(r.Gate, metric, p.Title)...)
		all = append(all, spec)
	}
	return all
}

// convert makes a plot of a panel. Its lines have the order of the panel of the fastest, and are hidden at first if
// they have no points there.
func convert(p, fastest plot.Panel) Plot {
	spec := Plot{
		Title: fastest.Title, XLabel: p.XLabel, YLabel: p.YLabel, Bytes: true, Levels: []Level{}, Hidden: []string{},
	}
	for _, shown := range fastest.Lines {
		line := Line{Name: shown.Name}
		for _, at := range pointsOf(p, shown.Name) {
			if at.Y > 0 {
				line.Points = append(line.Points, [2]float64{at.X, at.Y})
			}
		}
		if len(line.Points) == 0 {
			continue
		}
		if len(shown.Points) == 0 {
			spec.Hidden = append(spec.Hidden, line.Name)
		}
		spec.Lines = append(spec.Lines, line)
	}
	if p.Level != nil {
		spec.Levels = append(spec.Levels, Level{p.Level.Name, p.Level.Y})
	}
	return spec
}

// pointsOf are those of a line of a panel.
func pointsOf(p plot.Panel, name string) []plot.Point {
	i := slices.IndexFunc(p.Lines, func(l plot.Line) bool { return l.Name == name })
	return p.Lines[i].Points
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
