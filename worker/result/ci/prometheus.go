package ci

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gpurun/worker/result"
)

// family is a metric with its series, in the order of the results.
type family struct {
	name, help string
	order      []string // labels
	values     map[string]float64
}

func newFamily(name, help string) *family {
	return &family{name: name, help: help, values: map[string]float64{}}
}

// set gives the series with these labels a value. If the series has one, merge combines
// the two: Prometheus refuses a file with two samples of one series.
func (f *family) set(labels string, value float64, merge func(a, b float64) float64) {
	old, ok := f.values[labels]
	if ok {
		value = merge(old, value)
	} else {
		f.order = append(f.order, labels)
	}
	f.values[labels] = value
}

func (f *family) write(b *strings.Builder) {
	if len(f.order) == 0 {
		return
	}
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
	for _, labels := range f.order {
		fmt.Fprintf(b, "%s%s %s\n", f.name, labels, strconv.FormatFloat(f.values[labels], 'g', 9, 64))
	}
}

// Prometheus writes a report in Prometheus' text format, for the textfile
// collector of the node exporter. Units are seconds and bytes. Of results with the same
// labels, of several cycles, the worst is written.
func Prometheus(w io.Writer, r result.Report) error {
	var b strings.Builder
	for _, f := range append(runFamilies(r), resultFamilies(r.Results)...) {
		f.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// runFamilies are about the whole run.
func runFamilies(r result.Report) []*family {
	success := 0.0
	if r.Passed {
		success = 1
	}
	device, backend, driver := "", "", ""
	if len(r.Devices) > 0 {
		device, backend, driver = r.Devices[0].Name, r.Devices[0].Backend, r.Devices[0].Driver
	}
	about := labels("version", r.Version, "device", device, "backend", backend, "driver", driver, "ranks",
		strconv.Itoa(r.WorldSize))
	families := []*family{
		newFamily("gpurun_info", "What ran where; the value is always 1.").with(about, 1),
		newFamily("gpurun_success", "Whether the last run passed.").with("", success),
		newFamily("gpurun_exit_code", "The exit code of the last run.").with("", float64(r.ExitCode)),
		newFamily("gpurun_results", "Results of the last run.").with("", float64(len(r.Results))),
	}
	if g := r.Gate; g != nil {
		families = append(families, newFamily("gpurun_threshold_violations",
			"Results that miss a threshold, and thresholds without results.").
			with("", float64(len(g.Violations))))
	}
	return families
}

// with gives the only series its value.
func (f *family) with(labels string, value float64) *family {
	f.set(labels, value, nil)
	return f
}

// resultFamilies are about each result.
func resultFamilies(results []result.Result) []*family {
	seconds := newFamily("gpurun_call_seconds", "Median time of one call on the slowest rank.")
	busbw := newFamily("gpurun_bus_bandwidth_bytes_per_second", "Bus bandwidth by the median, as nccl-tests defines it.")
	wrong := newFamily("gpurun_wrong_elements", "Wrong elements on all ranks.")
	larger := func(a, b float64) float64 { return max(a, b) }
	smaller := func(a, b float64) float64 { return min(a, b) }
	for _, x := range results {
		l := labels("collective", x.Collective, "algorithm", x.Algorithm, "dtype", x.DType, "op", x.Op,
			"bytes", strconv.FormatInt(x.Bytes, 10), "place", place(x), "mode", x.Mode)
		if p := x.Product; p != nil {
			l = labels("collective", x.Collective, "algorithm", x.Algorithm, "dtype", x.DType, "shape", p.String(), "splits",
				strconv.Itoa(p.Splits))
		}
		if !x.Untimed {
			seconds.set(l, x.Time.P50/1e6, larger)
		}
		if !x.Untimed && x.Bytes > 0 && x.Product == nil {
			busbw.set(l, x.BusBW*1e9, smaller)
		}
		if x.Wrong != nil {
			wrong.set(l, float64(*x.Wrong), larger)
		}
	}
	return []*family{seconds, busbw, wrong}
}

// labels writes names and values, in turn.
func labels(pairs ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var all []string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, fmt.Sprintf(`%s="%s"`, pairs[i], escape.Replace(strings.ToValidUTF8(pairs[i+1], "\uFFFD"))))
	}
	return "{" + strings.Join(all, ",") + "}"
}
