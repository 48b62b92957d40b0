package bench

import (
	"slices"

	"gpurun/worker/plot"
	"gpurun/worker/result"
	"gpurun/worker/stats"
)

// Panels draws a report: for each type, operation and place the times and the bus
// bandwidths by size, a line for each series. What moves nothing gives no panels.
func Panels(r result.Report) []plot.Panel {
	var names []string
	blocks := map[string][]result.Result{}
	for _, x := range r.Results {
		if x.Bytes == 0 {
			continue
		}
		name := block(x)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		blocks[name] = append(blocks[name], x)
	}
	var panels []plot.Panel
	for _, name := range names {
		panels = append(panels, panelsOf(name, blocks[name], r.Ceiling.Rate())...)
	}
	return panels
}

func panelsOf(name string, results []result.Result, ceiling float64) []plot.Panel {
	size := func(x float64) string { return result.FormatSize(int64(x)) }
	latency := plot.Panel{Title: name, XLabel: "size (bytes)", YLabel: "median time (us)", XTick: size}
	bandwidth := plot.Panel{Title: name, XLabel: "size (bytes)", YLabel: "bus bandwidth (GB/s)", XTick: size}
	var series []string
	for _, r := range results {
		i := slices.Index(series, Series(r))
		if i < 0 {
			i, series = len(series), append(series, Series(r))
			latency.Lines = append(latency.Lines, plot.Line{Name: Series(r)})
			bandwidth.Lines = append(bandwidth.Lines, plot.Line{Name: Series(r)})
		}
		add := func(p *plot.Panel, y float64) {
			p.Lines[i].Points = append(p.Lines[i].Points, plot.Point{X: float64(r.Bytes), Y: y})
		}
		add(&latency, stats.Median(r.Samples))
		add(&bandwidth, r.BusBW)
	}
	if ceiling > 0 {
		bandwidth.Level = &plot.Level{Name: "link ceiling", Y: ceiling}
	}
	return []plot.Panel{latency, bandwidth}
}
