package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReasonsTheWorstFirst(t *testing.T) {
	r := wrong()
	r.Failure = "rank 1 was\nkilled"
	r.Checks = []Check{{"shm", StatusWarn, "64 MB", ""}, {"driver", StatusFail, "too old", "install another"}}
	r.Gate = &Gate{Violations: []Violation{{Text: "too slow"}, {Text: "slower"}}}
	want := []string{
		"1 of 4 results wrong; the first: " + r.Results[1].Complaints()[0],
		"rank 1 was\nkilled",
		"driver: too old (install another)",
		"2 violations of thresholds; the first: too slow",
	}
	if diff := cmp.Diff(want, r.Reasons()); diff != "" {
		t.Error(diff)
	}
	if got := r.Verdict(); got != "FAIL: "+strings.ReplaceAll(strings.Join(want, "; "), "\n", " ") {
		t.Errorf("verdict %q", got)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		report Report
		want   string
	}{
		{passed(), "PASS"},
		{Report{ExitCode: 130}, "FAIL: the run ended with exit code 130"},
		{early(), "FAIL: no rank came"},
	} {
		if got := c.report.Verdict(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A result that was not verified is not reported as right.
func TestNoneWrong(t *testing.T) {
	verified, unverified := Result{Wrong: new(int64)}, Result{}
	for want, results := range map[string][]Result{
		"0 OK": {verified, verified}, "not verified": {unverified},
		"0 OK, 1 of 2 results not verified": {verified, unverified},
	} {
		if got := noneWrong(results); got != want {
			t.Errorf("%d results: %q, want %q", len(results), got, want)
		}
	}
}

// TestTooSlowIsNotWrong checks the table of a run that is verified and misses a
// threshold.
func TestTooSlowIsNotWrong(t *testing.T) {
	r := passed()
	r.Passed, r.ExitCode = false, 99
	r.Gate = &Gate{Rules: []GateRule{{}, {}}, Violations: []Violation{{}}}
	text := string(render(t, TableFormat, r))
	for _, line := range []string{
		"# Out of bounds values : 0 OK\n", "# Avg bus bandwidth    : ",
		"# Thresholds           : 2 rules: 1 violation FAILED\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("there is no line %q", line)
		}
	}
	if strings.Contains(text, "ended early") {
		t.Error("it did not end early")
	}
}
