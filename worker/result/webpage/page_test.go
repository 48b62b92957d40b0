package webpage

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/worker/result"
)

// script is a name that would run where it is not escaped, and which a spreadsheet would take for a formula.
const script = `=cmd "|" <script>alert(1)</script>`

// hostile is a report of two algorithms, whose names and hosts are hostile.
func hostile() result.Report {
	r := result.Report{
		Schema: result.Schema, Version: "1", Command: []string{"/bin/gpurun", "bench", script}, WorldSize: 2, Passed: true,
		Devices:   []cudart.Info{{Backend: "sim", Name: "simulator <b>"}, {Backend: "sim", Name: "simulator <b>"}},
		Processes: []result.Process{{Host: `"><img src=x onerror=alert(1)>`}},
		Ceiling:   &result.Ceiling{CopyOut: []float64{50}, Bytes: 1 << 20, Method: "copies"},
		Pairs: []result.Pair{
			{From: 0, To: 1, CopyGBs: 40, LatencyNS: 700}, {From: 1, To: 0, CopyGBs: 20, LatencyNS: 900},
		},
	}
	wrong := int64(0)
	for i, bytes := range []int64{4 << 10, 1 << 10, 16 << 10} {
		for n, name := range []string{"oneshot", script} {
			us := []float64{40, 10, 160}[i] * float64(n+1)
			r.Results = append(r.Results, result.Result{
				Collective: "allreduce", Algorithm: name, DType: "float", Op: "sum", Root: -1, Bytes: bytes, Mode: "graph",
				Wrong: &wrong, Time: result.Time{Min: us, P50: us, Max: us}, BusBW: float64(bytes) / us / 1e3,
				AlgBW: float64(bytes) / us / 1e3, Samples: []float64{us, us, us, us, us, us},
			})
		}
	}
	return r
}

func write(t *testing.T, documents ...Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, "results", documents...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A page loads nothing, and allows no script but its own.
func TestPageNeedsNothing(t *testing.T) {
	t.Parallel()
	page := write(t, Run("gpurun bench", hostile()))
	if !strings.Contains(page, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) ||
		strings.Contains(page, "unsafe") {
		t.Error("the policy allows more than the page's own style and script")
	}
	for _, loads := range []string{"<script src", "<link", "<img", "<iframe", "@import", "url("} {
		if at := strings.Index(page, loads); at >= 0 {
			t.Errorf("the page loads something: %q", page[max(0, at-40):at+40])
		}
	}
}

// The largest sweep makes a page that a browser can bear.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	r := hostile()
	one := r.Results[0]
	for i := range 20000 {
		one.Bytes = int64(i + 1)
		r.Results = append(r.Results, one)
	}
	page := write(t, Run("gpurun bench", r))
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if want := fmt.Sprintf("%d more rows are in the JSON file.", len(r.Results)-mostRows); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
}

// A page says that the times of simulated devices say nothing, and not so of GPUs.
func TestSimulatedTimes(t *testing.T) {
	t.Parallel()
	const note = "The devices are simulated"
	r := hostile()
	if !strings.Contains(write(t, Run("gpurun bench", r)), note) {
		t.Error("the page does not say that devices are simulated")
	}
	r.Devices = []cudart.Info{{Backend: "cuda", Name: "NVIDIA H100"}}
	if strings.Contains(write(t, Run("gpurun bench", r)), note) {
		t.Error("a GPU is said to be simulated")
	}
}

// What has the title of its section, and the only document, are named once.
func TestTitlesStandOnce(t *testing.T) {
	t.Parallel()
	d := Document{Title: "results", Verdict: "well", Sections: []Section{
		{Title: "Same", Tables: []Table{{Caption: "Same"}, {Caption: "Another"}}, Drawings: []Drawing{{Title: "Same"}}},
	}}
	page := write(t, d)
	for text, want := range map[string]int{
		`<h2 id="title-0"> well</h2>`: 1, `<span class="unseen">Same</span>`: 1, `<span>Another</span>`: 1,
		`<figcaption class="unseen">Same</figcaption>`: 1, ">results</h": 1,
	} {
		if n := strings.Count(page, text); n != want {
			t.Errorf("%q is there %d times, want %d", text, n, want)
		}
	}
}

// The shades of a heat map go from the least to the largest number.
func TestHeatMap(t *testing.T) {
	t.Parallel()
	copies := Pairs(hostile().Pairs, "").Tables[0]
	if to1, to0 := copies.Rows[0][2], copies.Rows[1][1]; to1.Shade != 9 || to0.Shade != 1 || to1.Text != "40" {
		t.Errorf("40 GB/s is %+v, 20 GB/s is %+v", to1, to0)
	}
}

// A report that failed says so first, and a report with wrong data names the element.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	r := hostile()
	bad := int64(3)
	r.Passed, r.ExitCode = false, 1
	r.Results[0].Wrong = &bad
	r.Results[0].Mismatches = []result.Mismatch{{Rank: 1, Wrong: 3, Of: 1024, Index: 77, Want: "0x1", Got: "0x2"}}
	d := Run("gpurun allreduce", r)
	if d.Status != Fail || !strings.HasPrefix(d.Verdict, "1 of 6 results wrong") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	page := write(t, d)
	if !strings.Contains(page, "<td>rank") && !strings.Contains(page, ">77</td>") {
		t.Error("the page does not name the wrong element")
	}
}
