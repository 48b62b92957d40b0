package result

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/golden"
)

func pointer(n int64) *int64 { return &n }

// passed is a run of two algorithms on two GPUs.
func passed() Report {
	gpu := func(ordinal int) cudart.Info {
		return cudart.Info{
			Backend: "cuda", Ordinal: ordinal, Name: "NVIDIA H200", UUID: "GPU-0", PCIBusID: "0000:4B:00.0",
			Major: 9, SMs: 132, TotalMemory: 150 << 30, Driver: "575.57.08",
		}
	}
	row := func(algorithm string, bytes int64, inPlace bool, us, algbw float64) Result {
		return Result{
			Collective: "allreduce", Algorithm: algorithm, DType: "float", Op: "sum", Root: -1,
			Bytes: bytes, Count: bytes / 4, InPlace: inPlace, Mode: "stream", Wrong: pointer(0),
			Time:        Time{Min: us - 1, P50: us, P95: us + 1, P99: us + 2, Max: us + 3},
			SlowestRank: 1, AlgBW: algbw, BusBW: algbw,
		}
	}
	return Report{
		Schema: Schema, Version: "v1.2.3", Command: []string{"gpurun", "allreduce", "-b", "1K"}, WorldSize: 2,
		Processes: []Process{{"node1", 4711}, {"node1", 4712}},
		Devices:   []cudart.Info{gpu(0), gpu(1)},
		Results: []Result{
			row("oneshot", 1024, false, 6.789, 0.15), row("oneshot", 1024, true, 6.5, 0.16),
			row("oneshot", 1<<20, false, 123.4, 8.5), row("oneshot", 1<<20, true, 120, 8.7),
			row("twoshot", 64<<20, false, 1234567, 543.21), row("twoshot", 64<<20, true, 99999999, 12345.6),
		},
		Passed: true,
	}
}

// wrong is a run with one wrong element, and one measurement not verified.
func wrong() Report {
	r := passed()
	r.Results = r.Results[:4]
	r.Results[1].Wrong = pointer(1)
	r.Results[1].Mismatches = []Mismatch{
		{Rank: 1, Wrong: 1, Of: 256, Index: 7, Want: "0x40400000", Got: "0x40400001", Phase: "before timing"},
	}
	r.Results[2].Wrong, r.Results[3].Wrong = nil, nil
	r.Passed, r.ExitCode = false, 1
	return r
}

// broken is a run that ended between two results.
func broken() Report {
	r := passed()
	r.Results = r.Results[:3]
	r.Passed, r.ExitCode, r.Failure = false, 5, "rank 1 was killed"
	return r
}

// alone is a run of collectives with nothing in place, of one that moves
// nothing, and of an epilogue.
func alone() Report {
	r := passed()
	var results []Result
	for _, x := range []Result{r.Results[0], r.Results[2], r.Results[4]} {
		x.Collective, x.Algorithm, x.Op, x.Alone, x.Blocks, x.Why = "alltoall", "push", "none", true, 8, "asked for"
		results = append(results, x)
	}
	results[2].Blocks = 16
	empty := results[0]
	empty.Collective, empty.Algorithm, empty.DType, empty.Blocks = "barrier", "flag", None, 0
	empty.Bytes, empty.Count, empty.AlgBW, empty.BusBW = 0, 0, 0, 0
	norm := r.Results[:2:2]
	for i := range norm {
		norm[i].Epilogue, norm[i].Why = "rmsnorm", "an estimate"
	}
	r.Results = append(append(results, empty), norm...)
	return r
}

// early is a run that ended before its devices were known.
func early() Report {
	return Report{Schema: Schema, Version: "v1.2.3", WorldSize: 2, Failure: "no rank came", ExitCode: 6}
}

func TestRenderersGolden(t *testing.T) {
	runs := map[string]func() Report{"passed": passed, "wrong": wrong, "broken": broken, "early": early, "alone": alone}
	for name, run := range runs {
		for _, format := range Formats() {
			t.Run(name+"/"+string(format), func(t *testing.T) {
				golden.Check(t, name+"."+string(format)+".golden", render(t, format, run()))
			})
		}
	}
}

// render prints a report as it would appear in the course of a run.
func render(t *testing.T, format Format, r Report) []byte {
	t.Helper()
	var out bytes.Buffer
	renderer, err := NewRenderer(format, &out)
	if err != nil {
		t.Fatal(err)
	}
	var steps []error
	if r.Devices != nil {
		begun := r
		begun.Results = nil
		steps = append(steps, renderer.Begin(begun))
	}
	for _, x := range r.Results {
		steps = append(steps, renderer.Add(x))
	}
	for _, err := range append(steps, renderer.End(r)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestUnknownFormat(t *testing.T) {
	if _, err := NewRenderer("xml", &bytes.Buffer{}); err == nil {
		t.Error("there is a renderer for xml")
	}
}

func TestComplaints(t *testing.T) {
	want := []string{
		"rank 1: 1 of 256 elements is wrong before timing: allreduce oneshot float sum, 1024 bytes in place; " +
			"the first is element 7: wanted 0x40400000, found 0x40400001",
	}
	r := wrong().Results[1]
	if diff := cmp.Diff(want, r.Complaints()); diff != "" {
		t.Error(diff)
	}
	m := &r.Mismatches[0]
	m.WantValue, m.GotValue, m.Bound = "3", "3.0000002", "they differ by 2.38e-07, and tolerance = 1e-08 allows 3e-08"
	want[0] = strings.ReplaceAll(want[0], "wanted 0x40400000, found 0x40400001", "wanted 3 (0x40400000), "+
		"found 3.0000002 (0x40400001): they differ by 2.38e-07, and tolerance = 1e-08 allows 3e-08")
	if diff := cmp.Diff(want, r.Complaints()); diff != "" {
		t.Error(diff)
	}
}

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0", 1: "1", 28: "28", 1023: "1023", 1024: "1K", 1025: "1025", 1536: "1536", 3 << 10: "3K",
		1 << 20: "1M", 1<<20 + 1024: "1025K", 1 << 30: "1G", 1 << 43: "8192G",
	} {
		if got := FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		value float64
		width int
		want  string
	}{
		{0, 7, "   0.00"},
		{9999.99, 7, "9999.99"},
		{12345.67, 7, "12345.7"},
		{1234567, 7, "1234567"},
		{99999999, 7, "1.0e+08"},
		{999.999, 6, "1000.0"},
		{12345.6, 6, " 12346"},
	} {
		if got := fit(c.value, c.width); got != c.want {
			t.Errorf("fit(%v, %d) = %q, want %q", c.value, c.width, got, c.want)
		}
	}
}
