package bench

import (
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/plot"
	"gpurun/worker/result/stats"
)

// Panels makes the diagrams of a report: for each type, operation and place one of times
// and one of bus bandwidths, by size. Each series has a line, which looks the same in
// all diagrams. Collectives without data and products of matrices have no diagrams.
func Panels(r result.Report) []plot.Panel {
	var names, series []string
	sweeps := map[string][]result.Result{}
	for _, x := range r.Results {
		if x.Bytes == 0 || x.Product != nil {
			continue
		}
		name := sweepName(x)
		if sweeps[name] == nil {
			names = append(names, name)
		}
		sweeps[name] = append(sweeps[name], x)
		if !slices.Contains(series, Series(x)) {
			series = append(series, Series(x))
		}
	}
	var panels []plot.Panel
	for _, name := range names {
		latency := panel(name, "median time (us)", series, sweeps[name],
			median)
		bandwidth := panel(name, "bus bandwidth (GB/s)", series, sweeps[name],
			func(x result.Result) float64 { return x.BusBW })
		if ceiling := r.Ceiling.Rate(); ceiling > 0 {
			bandwidth.Level = &plot.Level{Name: "link ceiling", Y: ceiling}
		}
		panels = append(panels, latency, bandwidth)
	}
	return panels
}

// median is a result's median time in microseconds: of its samples, where bench kept them.
func median(x result.Result) float64 {
	if len(x.Samples) == 0 {
		return x.Time.P50
	}
	return stats.Median(x.Samples)
}

// panel is the diagram of a value of results by size.
func panel(title, label string, series []string, results []result.Result,
	value func(result.Result) float64,
) plot.Panel {
	p := plot.Panel{
		Title: title, XLabel: "size (bytes)", YLabel: label,
		XTick: func(x float64) string { return result.FormatSize(int64(x)) },
	}
	for _, name := range series {
		line := plot.Line{Name: name}
		for _, r := range results {
			if Series(r) == name {
				line.Points = append(line.Points, plot.Point{X: float64(r.Bytes), Y: value(r)})
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}
