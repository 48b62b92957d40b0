package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/golden"
	"gpurun/worker/result"
	"gpurun/worker/result/plot"
	"gpurun/worker/result/stats"
)

// one is a result with samples around a time, 1% apart.
func one(algorithm string, bytes int64, us float64, rounds int) result.Result {
	zero := int64(0)
	r := result.Result{
		Collective: "allreduce", Algorithm: algorithm, DType: "float", Op: "sum", Root: -1, Bytes: bytes, Count: bytes / 4,
		Mode: "graph", Wrong: &zero,
	}
	for i := range rounds {
		r.Samples = append(r.Samples, us*(1+0.01*float64((7*i)%rounds-rounds/2)))
	}
	s := stats.Summarize(r.Samples)
	r.Time = result.Time{Min: s.Min, P50: s.Median, Max: s.Max}
	r.BusBW = 1.5 * float64(bytes) / us / 1e3
	return r
}

// run is a report of three algorithms at two sizes on four GPUs, with 9 rounds.
func run() result.Report {
	r := result.Report{Schema: result.Schema, WorldSize: 4, Passed: true}
	for i := range 4 {
		r.Devices = append(r.Devices, cudart.Info{Backend: "cuda", Ordinal: i, Name: "NVIDIA H200", Driver: "580.1"})
	}
	r.Ceiling = &result.Ceiling{CopyOut: []float64{391, 390, 392, 391}, Bytes: 64 << 20, Method: "copy engine"}
	for _, inPlace := range []bool{false, true} {
		for _, x := range []result.Result{
			one("oneshot", 1<<10, 4, 9), one("twoshot", 1<<10, 8.04, 9), one("nccl", 1<<10, 8, 9),
			one("oneshot", 1<<26, 900, 9), one("twoshot", 1<<26, 270, 9), one("nccl", 1<<26, 300, 9),
		} {
			if x.InPlace = inPlace; inPlace && x.Algorithm == "oneshot" {
				continue
			}
			r.Results = append(r.Results, x)
		}
	}
	r.Results[4].Samples[3] = 800 // an outlier
	auto := one("oneshot", 1<<10, 4, 9)
	auto.Asked, auto.Blocks = "auto", 8
	r.Results = append(r.Results[:3], append([]result.Result{auto}, r.Results[3:]...)...)
	return r
}

// odd is a run with few rounds, no ceiling, a result that is wrong, one that is not
// verified, and no base at the second size.
func odd() result.Report {
	r := run()
	r.Ceiling = &result.Ceiling{Skipped: "one rank has no peer to copy to"}
	r.Results = []result.Result{one("oneshot", 1<<10, 4, 3), one("nccl", 1<<10, 8, 3), one("twoshot", 1<<20, 8, 3)}
	wrong := int64(3)
	r.Results[0].Wrong, r.Results[1].Wrong = &wrong, nil
	r.Passed, r.ExitCode = false, 1
	return r
}

func render(t *testing.T, r result.Report, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	table := NewTable(&out, o)
	steps := []error{table.Begin(r), table.Ceiling(*r.Ceiling)}
	for _, x := range r.Results {
		steps = append(steps, table.Add(x))
	}
	for _, err := range append(steps, table.End(r)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestTablesGolden(t *testing.T) {
	o := Options{Against: "nccl", Passes: 9, Iterations: 20, Graph: true}
	golden.Check(t, "run.table.golden", render(t, run(), o))
	golden.Check(t, "odd.table.golden", render(t, odd(), o))
	o.Markdown = true
	golden.Check(t, "run.markdown.golden", render(t, run(), o))
}

// The host's time is shown if the host launches every call.
func TestTableShowsTheHostsShare(t *testing.T) {
	of := run()
	of.Results[0].OnHost = 2.345
	for _, o := range []Options{{Against: "nccl"}, {Against: "nccl", Graph: true}} {
		text := string(render(t, of, o))
		if has := strings.Contains(text, " host us ") && strings.Contains(text, "  2.35  "); has == o.Graph {
			t.Errorf("graph %t:\n%s", o.Graph, text)
		}
	}
}

// Lines are in columns, whatever is in them.
func TestTableIsAligned(t *testing.T) {
	var width int
	for line := range strings.Lines(string(render(t, run(), Options{Against: "nccl"}))) {
		if fields := strings.Fields(line); len(fields) < 9 || fields[0] == "#" && fields[1] != "size" ||
			strings.Contains(line, "geometric") {
			continue
		}
		n := len([]rune(strings.TrimRight(line, "\n")))
		if width == 0 {
			width = n
		}
		if n != width {
			t.Errorf("%d characters, want %d: %s", n, width, line)
		}
	}
	if width == 0 {
		t.Error("there are no lines")
	}
}

func TestPanels(t *testing.T) {
	r := run()
	r.Results = append(r.Results, result.Result{Collective: "barrier", Algorithm: "flag", DType: "none"})
	panels := Panels(r)
	var names []string
	for _, p := range panels {
		names = append(names, p.Title+": "+p.YLabel)
		if len(p.Lines) != 4 || p.Lines[2].Name != "nccl" || len(p.Lines[2].Points) != 2 {
			t.Errorf("%+v", p.Lines)
		}
	}
	want := []string{
		"allreduce float sum, out of place: median time (us)", "allreduce float sum, out of place: bus bandwidth (GB/s)",
		"allreduce float sum, in place: median time (us)", "allreduce float sum, in place: bus bandwidth (GB/s)",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(&plot.Level{Name: "link ceiling", Y: 390}, panels[1].Level); diff != "" || panels[0].Level != nil {
		t.Error(diff, panels[0].Level)
	}
	if got, want := panels[0].Lines[0].Points,
		[]plot.Point{{X: 1 << 10, Y: 4}, {X: 1 << 26, Y: 900}}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// slowed is a run whose algorithm takes so many times as long.
func slowed(r result.Report, algorithm string, factor float64) result.Report {
	var results []result.Result
	for _, x := range r.Results {
		if Series(x) == algorithm {
			var samples []float64
			for _, us := range x.Samples {
				samples = append(samples, us*factor)
			}
			x.Samples = samples
			x.Time.P50 *= factor
		}
		results = append(results, x)
	}
	r.Results = results
	return r
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name      string
		factor    float64
		tolerance float64
		want      Verdict
		failed    bool
	}{
		{"the same", 1, 5, Noise, false},
		{"slightly, not significantly", 1.01, 5, Noise, false},
		{"slower within the tolerance", 1.08, 10, Slower, false},
		{"slower", 1.2, 5, Slower, true},
		{"slower with a large tolerance", 1.2, 25, Slower, false},
		{"faster", 0.5, 0, Faster, false},
	} {
		got, err := Compare(run(), slowed(run(), "twoshot", c.factor), c.tolerance)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, x := range got.Changes {
			want := Noise
			if x.Algorithm == "twoshot" {
				want = c.want
			}
			if x.Verdict != want || x.Failed != (c.failed && x.Algorithm == "twoshot") {
				t.Errorf("%s: %+v", c.name, x)
			}
			if x.Failed {
				failed++
			}
		}
		if len(got.Changes) != 11 || got.Failed != failed || len(got.OnlyOld)+len(got.OnlyNew)+len(got.Warnings) > 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Whatever a case is about keeps it from being compared with another.
func TestCasesMatchExactly(t *testing.T) {
	for name, spoil := range map[string]func(r *result.Result){
		"collective": func(r *result.Result) { r.Collective = "allgather" },
		"algorithm":  func(r *result.Result) { r.Algorithm = "ring" },
		"asked":      func(r *result.Result) { r.Asked = "auto" },
		"blocks":     func(r *result.Result) { r.Blocks = 4 },
		"dtype":      func(r *result.Result) { r.DType = "half" },
		"op":         func(r *result.Result) { r.Op = "max" },
		"root":       func(r *result.Result) { r.Root = 1 },
		"epilogue":   func(r *result.Result) { r.Epilogue = "bias" },
		"bytes":      func(r *result.Result) { r.Bytes = 2048 },
		"place":      func(r *result.Result) { r.InPlace = true },
		"mode":       func(r *result.Result) { r.Mode = "stream" },
		"wrong data": func(r *result.Result) { *r.Wrong = 1 },
		"no time":    func(r *result.Result) { r.Time.P50 = 0 },
		"nonsense":   func(r *result.Result) { r.Samples[3] = -1 },
	} {
		before, after := run(), run()
		before.Results, after.Results = []result.Result{one("oneshot", 1<<10, 4, 9)},
			[]result.Result{one("oneshot", 1<<10, 4, 9)}
		if _, err := Compare(before, after, 5); err != nil {
			t.Fatal(err)
		}
		spoil(&after.Results[0])
		if _, err := Compare(before, after, 5); !errors.Is(err, ErrNothingInCommon) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := run()
	other.WorldSize = 2
	if _, err := Compare(run(), other, 5); !errors.Is(err, ErrNothingInCommon) {
		t.Errorf("world size: %v", err)
	}
}

// Another version of a library, and memory of another kind, are worth a warning where
// both runs have one.
func TestCompareWarnsOfSurroundings(t *testing.T) {
	by := func(memory, library string) result.Report {
		r := run()
		if memory != "" {
			r.Memory = &result.Memory{Backend: memory}
		}
		for i, x := range r.Results {
			if x.Algorithm == "nccl" {
				r.Results[i].Library = library
			}
		}
		return r
	}
	for name, c := range map[string]struct {
		before, after result.Report
		want          []string
	}{
		"the same": {by("vmm", "NCCL 2.28.9"), by("vmm", "NCCL 2.28.9"), []string{}},
		"unknown":  {by("", ""), by("vmm", "NCCL 2.28.9"), []string{}},
		"both": {by("vmm", "NCCL 2.28.9"), by("ipc", "NCCL 2.29.1"), []string{
			"the kinds of memory differ: vmm, then ipc", "the libraries of nccl differ: NCCL 2.28.9, then NCCL 2.29.1",
		}},
	} {
		got, err := Compare(c.before, c.after, 5)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Warnings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Results without samples are compared by their medians, and never fail; the runs of
// several cycles are one case.
func TestCompareWithoutSamples(t *testing.T) {
	before, after := run(), slowed(run(), "twoshot", 3)
	for i := range after.Results {
		after.Results[i].Samples = nil
	}
	after.Devices = after.Devices[:2]
	after.Devices[0].Driver = "590.2"
	after.Results = append(after.Results, one("ring", 1<<10, 4, 9))
	after.Passed, after.ExitCode = false, 5
	got, err := Compare(before, after, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range got.Changes {
		if x.P != nil || x.Verdict != Unknown || x.Failed || x.Algorithm == "twoshot" &&
			(x.Percent < 190 || x.Percent > 210) {
			t.Errorf("%+v", x)
		}
	}
	want := []string{
		"the devices differ: 4 x NVIDIA H200 (cuda), then 2 x NVIDIA H200 (cuda)",
		"the drivers differ: [580.1], then [580.1 590.2]",
		"the new run failed with exit code 5: its measurements may be unreliable",
		"11 of 11 cases have no samples, or too few for a significant change, " +
			"and never fail: gpurun bench -J writes samples, --rounds 15 enough of them",
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Error(diff)
	}
	if len(got.OnlyNew) != 1 || got.OnlyNew[0].Algorithm != "ring" {
		t.Errorf("%+v", got.OnlyNew)
	}
	before.Results = append(before.Results, before.Results...)
	if got, err = Compare(before, before, 5); err != nil || len(got.Changes) != 11 || got.Changes[0].Old.Samples != 18 {
		t.Errorf("%+v, %v", got.Changes[0], err)
	}
}

func TestComparisonGolden(t *testing.T) {
	after := slowed(slowed(run(), "twoshot", 1.2), "nccl", 0.9)
	after.Results = append(after.Results[1:], one("ring", 1<<10, 4, 9), one("ring", 1<<12, 4, 9))
	after.Results[0].Samples = nil
	c, err := Compare(run(), after, 5)
	if err != nil {
		t.Fatal(err)
	}
	for name, markdown := range map[string]bool{"changes.table": false, "changes.markdown": true} {
		var out bytes.Buffer
		if err := c.Print(&out, markdown, 0); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".golden", out.Bytes())
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// A comparison fits a terminal of 80 columns without its p-values. On a wide one it is that of a pipe.
func TestComparisonFitsTheTerminal(t *testing.T) {
	after := slowed(slowed(run(), "twoshot", 2.5), "nccl", 0.9)
	c, err := Compare(run(), after, 5)
	if err != nil {
		t.Fatal(err)
	}
	c.Changes[0].Algorithm = "multimem_oneshot"
	print := func(width int) string {
		var out bytes.Buffer
		if err := c.Print(&out, false, width); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if print(120) != print(0) {
		t.Errorf("120 columns:\n%s\nwant:\n%s", print(120), print(0))
	}
	narrow := print(80)
	if !strings.Contains(narrow, "SLOWER") || strings.Contains(narrow, "  p\n") {
		t.Errorf("80 columns:\n%s", narrow)
	}
	for line := range strings.Lines(narrow) { // the sentences are broken by cmd/gpurun/terminal
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "# ") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// Whatever is in the files, they are compared or not, and what comes of it can be
// printed in every form.
func FuzzCompare(f *testing.F) {
	for _, r := range []result.Report{run(), odd(), slowed(run(), "twoshot", 1.2)} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r result.Report
		if json.Unmarshal(text, &r) != nil {
			return
		}
		for _, pair := range [][2]result.Report{{r, r}, {run(), r}} {
			c, err := Compare(pair[0], pair[1], 5)
			if err != nil {
				continue
			}
			if _, err := json.Marshal(c); err != nil {
				t.Error(err)
			}
			for _, markdown := range []bool{false, true} {
				if err := c.Print(io.Discard, markdown, 0); err != nil {
					t.Error(err)
				}
			}
		}
		for _, p := range Panels(r) {
			if err := plot.Text(io.Discard, p, 80, 12); err != nil {
				t.Error(err)
			}
		}
	})
}

// A comparison of few samples can be written as JSON, which has no infinity.
func TestComparisonOfFewSamplesIsJSON(t *testing.T) {
	r := run()
	r.Results = []result.Result{one("oneshot", 1<<10, 4, 2)}
	c, err := Compare(r, r, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := c.Print(&out, false, 0); err != nil || !strings.Contains(out.String(), "∞") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// "auto" is a series of its own, whatever it takes.
func TestAgainstAuto(t *testing.T) {
	fast, slow := one("oneshot", 1<<10, 4, 9), one("twoshot", 1<<10, 8, 9)
	auto := slow
	auto.Asked = "auto"
	var got []string
	for _, r := range rows([]result.Result{fast, slow, auto}, "auto", 0) {
		got = append(got, label(r.Result)+" "+r.versus())
	}
	if diff := cmp.Diff([]string{"oneshot 2.00x", "twoshot ~ 1.00x", "auto (twoshot) base"}, got); diff != "" {
		t.Error(diff)
	}
}

// A wrong result has no ratio. It is not the base of any ratio, and no mean includes it.
func TestWrongHasNoRatio(t *testing.T) {
	wrong := int64(1)
	results := []result.Result{one("oneshot", 1<<10, 4, 9), one("nccl", 1<<10, 8, 9)}
	for i := range results {
		bad := slices.Clone(results)
		bad[i].Wrong = &wrong
		for _, r := range rows(bad, "nccl", 0) {
			if !r.base && r.versus() != "-" {
				t.Errorf("%s is wrong, and %s is %s", bad[i].Algorithm, r.Algorithm, r.versus())
			}
		}
		if text := string(render(t, result.Report{Ceiling: &result.Ceiling{}, Results: bad},
			Options{Against: "nccl"})); strings.Contains(text, "geometric mean") {
			t.Error(text)
		}
	}
}

func TestVersus(t *testing.T) {
	for _, c := range []struct {
		r    row
		want string
	}{
		{row{base: true, ratio: 1, p: 1}, "base"},
		{row{}, "-"},
		{row{ratio: 1.234, p: 0.0499}, "1.23x"},
		{row{ratio: 1.234, p: 0.05}, "~ 1.23x"},
		{row{ratio: 1.234, p: 0.05, inconclusive: true}, "? 1.23x"},
	} {
		if got := c.r.versus(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
	if fmt.Sprint(percentOf(0.0123)) != "1.2%" {
		t.Error(percentOf(0.0123))
	}
}
