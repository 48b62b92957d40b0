package bench

import (
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/plot"
	"gpurun/worker/result/stats"
)

// Panels draws a report: for each type, operation and place the times and the bus
// bandwidths by size, a line for each series, which looks the same in all of them. What
// moves nothing gives no panels, and neither do products of matrices.
func Panels(r result.Report) []plot.Panel {
	var names, series []string
	blocks := map[string][]result.Result{}
	for _, x := range r.Results {
		if x.Bytes == 0 || x.Product != nil {
			continue
		}
		name := block(x)
		if blocks[name] == nil {
			names = append(names, name)
		}
		blocks[name] = append(blocks[name], x)
		if !slices.Contains(series, Series(x)) {
			series = append(series, Series(x))
		}
	}
	var panels []plot.Panel
	for _, name := range names {
		latency := panel(name, "median time (us)", series, blocks[name], func(x result.Result) float64 { return stats.Median(x.Samples) })
		bandwidth := panel(name, "bus bandwidth (GB/s)", series, blocks[name], func(x result.Result) float64 { return x.BusBW })
		if ceiling := r.Ceiling.Rate(); ceiling > 0 {
			bandwidth.Level = &plot.Level{Name: "link ceiling", Y: ceiling}
		}
		panels = append(panels, latency, bandwidth)
	}
	return panels
}

// panel draws a value of results by size.
func panel(title, label string, series []string, results []result.Result, value func(result.Result) float64) plot.Panel {
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
