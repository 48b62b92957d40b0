package ci

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/worker/golden"
	"gpurun/worker/result"
)

func pointer[T any](x T) *T { return &x }

// one is a result that is right.
func one(bytes int64, inPlace bool, us, busbw float64) result.Result {
	return result.Result{
		Collective: "allreduce", Algorithm: "twoshot", Blocks: 64, DType: "float", Op: "sum", Root: -1, Mode: "stream",
		Bytes: bytes, Count: bytes / 4, InPlace: inPlace, Wrong: pointer(int64(0)), Time: result.Time{P50: us}, BusBW: busbw,
	}
}

func passed() result.Report {
	empty := one(0, false, 3.4, 0)
	empty.Collective, empty.Algorithm, empty.DType, empty.Op, empty.Blocks = "barrier", "flag", result.None, result.None, 0
	return result.Report{
		Version: "v1.2.3", WorldSize: 2,
		Devices: []cudart.Info{
			{Backend: "cuda", Name: "NVIDIA H200", Driver: "580.1"}, {Backend: "cuda", Name: "NVIDIA H200", Driver: "580.1"},
		},
		Results: []result.Result{one(1<<10, false, 6.5, 0.25), one(64<<20, true, 320, 315), empty},
		Gate: &result.Gate{
			Rules: []result.GateRule{{Rule: "allreduce@64M:300", Matched: 1}}, Violations: []result.Violation{},
		},
		Passed: true,
	}
}

// failed has all that can be wrong, in words that need escaping.
func failed() result.Report {
	r := passed()
	bad := one(64<<20, false, 400, 250)
	bad.Wrong = pointer(int64(3))
	bad.Mismatches = []result.Mismatch{
		{Rank: 1, Wrong: 3, Of: 256, Index: 7, Want: "0x1", Got: "0x2", Phase: "after timing"},
	}
	unverified := one(4<<10, false, 7, 1)
	unverified.Wrong = nil
	r.Results = append(r.Results, bad, one(64<<20, true, 330, 299), unverified)
	r.Checks = []result.Check{
		{Name: "driver", Status: result.StatusOK, Summary: "580.1"},
		{Name: "shm", Status: result.StatusWarn, Summary: "64 MB", Advice: "mount more"},
		{Name: "peer access", Status: result.StatusFail, Summary: `GPU 0 <-> "1" | none`, Advice: "ask | look"},
	}
	r.Gate = &result.Gate{
		Profile: "x", Rules: []result.GateRule{{Rule: "allreduce@64M:300"}, {Rule: "reduce:1"}},
		Violations: []result.Violation{
			{
				Rule: "allreduce@64M:300", Result: pointer(3),
				Text: "allreduce out of place: wanted at least 300 GB/s, got 250 GB/s",
			},
			{Rule: "allreduce@64M:300", Result: pointer(4), Text: "allreduce in place: wanted at least 300 GB/s, got 299 GB/s"},
			{Rule: "reduce:1", Text: "reduce:1: it applies to no result"},
		},
	}
	r.Failure = "rank 1 said \x1b[31m<bad>\x00\xff & died:\n100% | `of` it"
	r.Devices[1].Name = "say \"\\\n\""
	r.Devices[0] = r.Devices[1]
	r.Passed, r.ExitCode = false, 1
	return r
}

func early() result.Report {
	return result.Report{Version: "v1.2.3", WorldSize: 2, Failure: "no rank came", ExitCode: 6}
}

func TestGolden(t *testing.T) {
	for name, report := range map[string]result.Report{"passed": passed(), "failed": failed(), "early": early()} {
		for form, write := range map[string]func(io.Writer) error{
			"xml":  func(w io.Writer) error { return JUnit(w, "gpurun smoke", report) },
			"prom": func(w io.Writer) error { return Prometheus(w, report) },
			"md": func(w io.Writer) error {
				_, err := io.WriteString(w, Summary("gpurun smoke", report, 1<<20))
				return err
			},
		} {
			t.Run(name+"."+form, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, name+"."+form+".golden", got.Bytes())
			})
		}
	}
}

// TestJUnitIsXML reads it back: allowed characters alone, counts that agree, and
// no two cases with one name.
func TestJUnitIsXML(t *testing.T) {
	report := failed()
	report.Results = append(report.Results, report.Results...) // two cycles
	var b bytes.Buffer
	if err := JUnit(&b, "x", report); err != nil {
		t.Fatal(err)
	}
	seen, count := map[string]bool{}, map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if count[start.Name.Local]++; start.Name.Local != "testcase" {
			continue
		}
		name := fmt.Sprint(start.Attr[:2])
		if seen[name] {
			t.Errorf("two cases are named %s", name)
		}
		seen[name] = true
	}
	totals := fmt.Sprintf(`tests="%d" failures="%d" errors="%d" skipped="%d"`, count["testcase"], count["failure"],
		count["error"], count["skipped"])
	if first := strings.SplitN(b.String(), "\n", 3)[1]; !strings.Contains(first, totals) {
		t.Errorf("%s, want %s", first, totals)
	}
}

// TestCaseKeepsItsName checks that neither another grid nor another version of a library
// makes another case of a result.
func TestCaseKeepsItsName(t *testing.T) {
	before, after := one(1<<10, false, 9, 0.1), one(1<<10, false, 9, 0.1)
	after.Blocks, after.Library = 8, "NCCL 2.99.1"
	a, b := resultCase(before, nil, map[string]int{}), resultCase(after, nil, map[string]int{})
	if a.Name != b.Name {
		t.Errorf("%q, then %q", a.Name, b.Name)
	}
}

// TestPrometheusHasNoSeriesTwice checks that of several cycles the worst counts.
func TestPrometheusHasNoSeriesTwice(t *testing.T) {
	worse := one(1<<10, false, 9, 0.1)
	worse.Wrong = pointer(int64(4))
	var b bytes.Buffer
	if err := Prometheus(&b, result.Report{
		Results: []result.Result{one(1<<10, false, 6, 0.2), worse, one(1<<10, false, 7, 0.3)},
	}); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if _, ok := values[line[:at]]; ok {
			t.Errorf("%s is there twice", line[:at])
		}
		name, _, _ := strings.Cut(line[:at], "{")
		values[line[:at]], values[name] = strings.TrimSpace(line[at:]), strings.TrimSpace(line[at:])
	}
	for name, want := range map[string]string{
		"gpurun_call_seconds": "9e-06", "gpurun_bus_bandwidth_bytes_per_second": "100000000", "gpurun_wrong_elements": "4",
	} {
		if values[name] != want {
			t.Errorf("%s is %s, want %s", name, values[name], want)
		}
	}
	if !strings.HasSuffix(b.String(), "\n") {
		t.Error("the last line does not end")
	}
}

func TestAnnotation(t *testing.T) {
	got := Annotation("gpurun: a, b", "100%\r\n::error::, done: yes")
	want := "::error title=gpurun%3A a%2C b::100%25%0D%0A::error::, done: yes"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSummaryIsBounded checks that a summary keeps its bound, whatever it is,
// and counts what it leaves out.
func TestSummaryIsBounded(t *testing.T) {
	report := failed()
	for range 20000 {
		report.Results = append(report.Results, one(1<<20, true, 1, 1))
	}
	report.Failure = strings.Repeat("long\n", 1<<20)
	for _, most := range []int{0, 1, 100, 6000, 50000, 1 << 20} {
		text := Summary("gpurun smoke", report, most)
		if len(text) > most {
			t.Errorf("%d bytes, want at most %d", len(text), most)
		}
		if most >= 50000 && !strings.Contains(text, "more results are left out") {
			t.Errorf("of %d bytes, what is left out is not said", most)
		}
	}
	if text := Summary("gpurun smoke", passed(), 1<<20); strings.Contains(text, "left out") {
		t.Error("nothing is left out")
	}
}
