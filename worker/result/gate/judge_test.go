package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/result"
)

// measured is a result of allreduce twoshot.
func measured(bytes int64, inPlace bool, us, busbw float64) result.Result {
	return result.Result{
		Collective: "allreduce", Algorithm: "twoshot", DType: "float", Op: "sum", Root: -1, Mode: "stream",
		Bytes: bytes, InPlace: inPlace, Time: result.Time{P50: us}, BusBW: busbw,
	}
}

func rules(t *testing.T, metric Metric, texts ...string) []Rule {
	t.Helper()
	var all []Rule
	for _, text := range texts {
		r, err := Parse(metric, text, "--min-busbw")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// onMany is a report of so many GPUs of a model.
func onMany(name string, world int, results ...result.Result) result.Report {
	r := result.Report{WorldSize: world, Results: results}
	for range world {
		r.Devices = append(r.Devices, cudart.Info{Backend: "cuda", Name: name})
	}
	return r
}

// TestEveryResultIsJudged checks that a good result does not make up for a bad
// one: neither of another size, nor in another place.
func TestEveryResultIsJudged(t *testing.T) {
	results := []result.Result{
		measured(1<<10, false, 5, 1), measured(1<<10, true, 9, 2),
		measured(64<<20, false, 300, 1000), measured(64<<20, true, 330, 299),
		measured(128<<20, false, 600, 300), measured(128<<20, true, 0, 0),
	}
	for _, c := range []struct {
		name    string
		metric  Metric
		rules   []string
		want    []int // results with a violation; -1 is none at all
		matched []int
	}{
		{"each size and place", BusBW, []string{"allreduce@>=64M:300"}, []int{3, 5}, []int{4}},
		{"a bound is included", BusBW, []string{"allreduce@64M-64M:299", "allreduce@<=1K:1"}, nil, []int{2, 2}},
		{"any size", BusBW, []string{"allreduce:1.5"}, []int{0, 5}, []int{6}},
		{"an algorithm", BusBW, []string{"allreduce/twoshot@1K:2", "allreduce/oneshot@1K:2"}, []int{0, -1}, []int{2, 0}},
		{"latency", Latency, []string{"allreduce@1K:5us", "allreduce@64M:330us"}, []int{1}, []int{2, 2}},
		{"no time proves nothing", Latency, []string{"allreduce@128M:1s"}, []int{5}, []int{2}},
		{"nothing was measured", BusBW, []string{"broadcast:1", "allreduce@2K:1"}, []int{-1, -1}, []int{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Plan{Rules: rules(t, c.metric, c.rules...)}.Judge(onMany("x", 2, results...))
			var violated, matched []int
			for _, v := range got.Violations {
				if v.Result == nil {
					violated = append(violated, -1)
					continue
				}
				violated = append(violated, *v.Result)
			}
			for _, r := range got.Rules {
				matched = append(matched, r.Matched)
			}
			if diff := cmp.Diff(c.want, violated); diff != "" {
				t.Errorf("violations: %s", diff)
			}
			if diff := cmp.Diff(c.matched, matched); diff != "" {
				t.Errorf("matched: %s", diff)
			}
			if got.Failed() != (len(c.want) > 0) {
				t.Error("Failed contradicts the violations")
			}
		})
	}
}

// TestAskedSizes checks that a size that ranks do not divide is found by its
// name, and by what was measured of it.
func TestAskedSizes(t *testing.T) {
	cut, whole := measured(65520, false, 5, 2), measured(64<<10, false, 5, 2)
	cut.AskedBytes = 64 << 10
	got := Plan{
		Rules: rules(t, BusBW, "allreduce@64K:1", "allreduce@65520:1", "allreduce@<=32K:1", "allreduce@>=65537:1"),
	}.Judge(onMany("x", 3, cut, whole))
	var matched []int
	for _, r := range got.Rules {
		matched = append(matched, r.Matched)
	}
	if diff := cmp.Diff([]int{2, 1, 0, 0}, matched); diff != "" {
		t.Error(diff)
	}
}

func TestViolationsAreSentences(t *testing.T) {
	report := onMany("x", 2, measured(64<<20, true, 330, 204.92), measured(128<<20, false, 20, math.NaN()))
	plan := Plan{
		Rules: append(rules(t, BusBW, "allreduce@64M:300", "allreduce@128M:300", "reduce@>=1M:3"),
			rules(t, Latency, "allreduce@64M:300us")...),
	}
	var got []string
	for _, v := range plan.Judge(report).Violations {
		got = append(got, v.Text)
	}
	want := []string{
		"allreduce twoshot float sum, 67108864 bytes in place: wanted at least 300 GB/s, got 204.9 GB/s, 31.69% under " +
			"(allreduce@64M:300, --min-busbw)",
		"allreduce twoshot float sum, 134217728 bytes out of place: wanted at least 300 GB/s, got NaN GB/s, " +
			"which is no measurement (allreduce@128M:300, --min-busbw)",
		"reduce@>=1M:3 (--min-busbw): it applies to no result: nothing was measured for reduce@>=1M",
		"allreduce twoshot float sum, 67108864 bytes in place: wanted at most 300 us, got 330 us, 10% over " +
			"(allreduce@64M:300us, --min-busbw)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWorstIsNearest checks what a rule says about the results it applies to.
func TestWorstIsNearest(t *testing.T) {
	report := onMany("x", 2, measured(1<<20, false, 30, 200), measured(1<<20, true, 40, 150),
		measured(1<<20, true, 20, 400))
	got := Plan{Rules: append(rules(t, BusBW, "allreduce:100"), rules(t, Latency, "allreduce:1ms")...)}.Judge(report)
	if *got.Rules[0].Worst != 150 || *got.Rules[1].Worst != 40 {
		t.Errorf("worst %v and %v", *got.Rules[0].Worst, *got.Rules[1].Worst)
	}
}

func TestNothingToJudgeBy(t *testing.T) {
	if got := (Plan{}).Judge(onMany("x", 2)); got != nil {
		t.Errorf("%+v", got)
	}
}

const profileOfX = `
gpu = ["x", "x with more memory"]

[[rule]]
world = 2
busbw = "allreduce@>=1M:100"
source = "a test"

[[rule]]
world = 2
latency = "allreduce@<=1K:10us"
source = "a test"

[[rule]]
world = 4
busbw = "broadcast:100"
source = "a test"
`

func TestProfiles(t *testing.T) {
	x, err := ParseProfile("x", "x.toml", []byte(profileOfX))
	if err != nil {
		t.Fatal(err)
	}
	auto, named := Plan{Auto: []Profile{x}}, Plan{Profile: &x}
	// Nobody ran reduce or NCCL, and so nobody misses them.
	manyOfX := x
	manyOfX.Rules = nil
	for _, r := range rules(t, BusBW, "allreduce@>=1M:100", "allreduce/oneshot@>=1M:100", "allreduce@<=1K:1", "reduce:1",
		"allreduce/nccl@>=8G:1") {
		manyOfX.Rules = append(manyOfX.Rules, ProfileRule{2, r})
	}
	simulated := onMany("x", 2, measured(1<<20, false, 30, 99))
	simulated.Devices[1].Backend = "sim"
	for _, c := range []struct {
		name             string
		plan             Plan
		report           result.Report
		profile          string
		violations       int
		note, firstWords string
	}{
		{
			"fits and misses", auto, onMany("x", 2, measured(1<<20, false, 30, 99), measured(1<<10, false, 9, 1)), "x", 1, "",
			"allreduce twoshot",
		},
		{
			"fits and holds", auto, onMany("x", 2, measured(1<<20, false, 30, 100), measured(1<<10, false, 9, 1)), "x", 0, "",
			"",
		},
		{
			"another of its models", auto, onMany("x with more memory", 2, measured(1<<20, false, 30, 99)), "x", 1,
			"also has thresholds for allreduce@<=1K", "allreduce twoshot",
		},
		{
			"another model", auto, onMany("y", 2, measured(1<<20, false, 30, 99)), "", 0,
			"no built-in profile of thresholds fits 2 x y (cuda)", "",
		},
		{"another number", auto, onMany("x", 3, measured(1<<20, false, 30, 99)), "", 0, "fits 3 x x", ""},
		{"the simulator", auto, simulated, "", 0, "no built-in profile", ""},
		{
			"in part for collectives that did not run",
			Plan{Auto: []Profile{manyOfX}},
			onMany("x", 2, measured(1<<20, false, 30, 100)), "x", 0,
			"the profile x also has thresholds for allreduce/oneshot@>=1M, allreduce@<=1K, of which nothing was measured", "",
		},
		{
			"for collectives that did not run", auto, onMany("x", 2, measured(4<<10, false, 30, 99)), "x", 0,
			"no threshold of the profile x applies to any result", "",
		},
		{"named, whatever the GPU", named, onMany("y", 2, measured(1<<20, false, 30, 99)), "x", 1, "", "allreduce twoshot"},
		{
			"named, about nothing that ran", named, onMany("x", 4, measured(1<<20, false, 30, 99)), "x", 1, "",
			"profile x: none of its rules",
		},
		{
			"named, for another number", named, onMany("x", 8, measured(1<<20, false, 30, 99)), "x", 1, "",
			"profile x: it has no rule for 8 ranks",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.plan.Judge(c.report)
			if got.Profile != c.profile || len(got.Violations) != c.violations || !strings.Contains(got.Note, c.note) ||
				(c.note == "") != (got.Note == "") {
				t.Fatalf("%+v", got)
			}
			if c.violations > 0 && !strings.HasPrefix(got.Violations[0].Text, c.firstWords) {
				t.Errorf("violation: %s", got.Violations[0].Text)
			}
		})
	}
}

func TestProfileSlips(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"key", `source = "a test"`, `sauce = "a test"`, `x.toml:7: unknown key "rule.sauce"`},
		{"no TOML", `gpu = [`, `gpu = `, "x.toml:2: "},
		{
			"rule", "allreduce@>=1M:100", "allreduce@>=1M",
			"x.toml:4: rule 1: threshold \"allreduce@>=1M\": the limit is missing",
		},
		{
			"two", `latency = "all`, "busbw = \"reduce:1\"\nlatency = \"all",
			"x.toml:9: rule 2: it needs either busbw or latency",
		},
		{"none", `busbw = "allreduce@>=1M:100"`, "", "x.toml:4: rule 1: it needs either"},
		{"source", `source = "a test"`, "", "x.toml:4: rule 1: source is missing"},
		{"world", "world = 2", "world = 0", "x.toml:4: rule 1: world 0 is not between"},
		{"gpu", `gpu = ["x", "x with more memory"]`, "", "x.toml: gpu is missing"},
		{"date", `source = "a test"`, "source = 2026-11-21", "bare"},
	} {
		text := strings.Replace(profileOfX, c.old, c.new, 1)
		if _, err := ParseProfile("x", "x.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ParseProfile("x", "x.toml", []byte(`gpu = ["x"]`)); err == nil {
		t.Error("a profile without rules is none")
	}
}
